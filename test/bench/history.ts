import * as z from "zod/mini";
import type { Lambda } from "../../infra/aws-local/lambda/lambda.ts";
import { openDatabase, type Sql, values } from "../support/database.ts";
import { latestChange } from "../support/undo.ts";
import { median, type Row, timed } from "./measure.ts";
import type { Stage } from "./stage.ts";

const editsOfDay = 100;
/** How many changes a run of ops-tidy deletes. */
const deletedAtOnce = 400;

interface Measured {
  readonly what: string;
  readonly milliseconds: number;
}

/**
 * Compares what operators do with a history of 20,000 rows, of 2,000 contributors, with the same in one of two million, of
 * 200,000 contributors: it touches as many rows, and must take as long.
 */
export async function history(stage: Stage): Promise<Row[]> {
  const few = await measured(stage, 2_000);
  const many = await measured(stage, 200_000);
  return few.map(({ what, milliseconds }, index) => {
    const later = many[index]?.milliseconds ?? Number.NaN;
    const times = `${milliseconds.toFixed(0)} ms to ${later.toFixed(0)} ms`;
    return { what: `${what} (${times})`, value: later / milliseconds, unit: "x", bound: 1.5 };
  });
}

/** The name and the payload of an operators' function. */
type Invocation = readonly [name: string, payload: object];

async function measured(stage: Stage, contributors: number): Promise<Measured[]> {
  const { lambda, databaseUrl } = await stage.catalogue(contributors / 1.25);
  const sql = openDatabase(databaseUrl, { max: 1 });
  /** The median of so many runs, behind one that warms up. */
  const measure = async (what: string, runs: number, prepare: () => Promise<Invocation>): Promise<Measured> => {
    const times: number[] = [];
    for (let run = -1; run < runs; run++) {
      const [name, payload] = await prepare();
      const time = await timed(() => operate(lambda, name, payload));
      if (run >= 0) times.push(time);
    }
    return { what, milliseconds: median(times) };
  };
  try {
    await addHistory(sql, contributors);
    const old = await latestChange(sql);
    await sql.query("vacuum analyze");
    const [id = 0] = await values(sql`select owners[1] from history where change_id = ${old}::bigint limit 1`);
    const ages = [480, 460, 440, 420];
    return [
      await measure("list-changes, the newest 50", 9, async () => ["ops-list-changes", { limit: 50 }]),
      await measure("list-changes of a record", 9, async () => ["ops-list-changes", { record: `contributor/${id}` }]),
      await measure("undo of an edit", 9, async () => ["ops-undo", { change: await edit(sql, id) }]),
      await measure("undo that is refused", 9, async () => ["ops-undo", { change: old }]),
      await measure(`undo of a day of ${editsOfDay} edits`, 2, async () => ["ops-undo", await editForADay(sql)]),
      await measure(`tidy of ${deletedAtOnce} changes`, 3, async () => ["ops-tidy", { days: ages.shift() }]),
    ];
  } finally {
    await sql.end();
  }
}

/** @throws if the function fails, or has not done all */
async function operate(lambda: Lambda, name: string, payload: object): Promise<void> {
  const response = await lambda.invoke(name, payload);
  const { data } = z.safeParse(done, response);
  if (!data || data.result.isDone === false) throw new Error(`${name}: ${JSON.stringify(response).slice(0, 1_000)}`);
}

const done = z.object({ result: z.object({ isDone: z.optional(z.boolean()) }) });

/**
 * Adds an edit of each contributor, with ten rows, one of which is another one by now. The first changes are so old that
 * four runs of ops-tidy delete some of them each.
 */
const addHistory = (sql: Sql, contributors: number): Promise<unknown> =>
  sql`
    with edited as materialized (
      select id, row_number() over (order by id) as place from contributors order by id limit ${contributors}::bigint
    ), added as (
      insert into changes (at, endpoint, key, request_id, caller_id, username)
      select
        now() - make_interval(days => greatest(490 - 20 * cast((place - 1) / ${deletedAtOnce}::bigint as integer), 100)),
        'admin-contributors/edit', 'made-up-' || place, 'made-up-' || place, 1, 'administrator'
      from edited
      order by place
      returning id, cast(substr(key, 9) as bigint) as place
    )
    insert into history (change_id, table_name, owners, keys, before, after)
    select
      added.id, table_name, array_fill(edited.id, array[cardinality(keys)]),
      (
        select jsonb_agg(jsonb_build_array(case when key = 0 then edited.id else 100000000 + 10 * place + key end))
        from unnest(keys) as key
      ),
      before,
      case
        when before is null then (
          select jsonb_agg(jsonb_build_object('name', 'Alias ' || key, 'contributor_id', edited.id))
          from unnest(keys) as key
        )
        else '[{"gender": "after"}]'
      end
    from
      added
      join edited using (place)
      cross join (
        values
          ('contributors', array[0], jsonb '[{"gender": "before"}]'),
          ('contributor_aliases', array[1, 2, 3, 4, 5, 6, 7, 8, 9], null)
      ) as touched (table_name, keys, before)
    order by place
  `;

/** Edits a contributor in a change of its own. */
async function edit(sql: Sql, id: number): Promise<number> {
  await sql`update contributors set gender = cast(gen_random_uuid() as text) where id = ${id}::bigint`;
  return await latestChange(sql);
}

/** A day on which a user edited many contributors. */
async function editForADay(sql: Sql): Promise<object> {
  const from = new Date().toISOString();
  const ids = await values(sql`select id from contributors order by id offset 1000 limit ${editsOfDay}::bigint`);
  const changes: number[] = [];
  for (const id of ids) changes.push(await edit(sql, id));
  await sql`
    update changes
    set caller_id = 1, username = 'administrator', endpoint = 'admin-contributors/edit'
    where id = any(${changes}::bigint[])
  `;
  return { user: 1, from, to: new Date(Date.now() + 1).toISOString() };
}
