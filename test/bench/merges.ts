import { openDatabase } from "../support/database.ts";
import { type Row, timed } from "./measure.ts";
import type { Stage } from "./stage.ts";

const merged = 100;
const seriesOfEach = 1_000;
/** The Data API ends a statement after 45 s. */
const bound = 45_000;

/** Merges a hundred contributors with a thousand series each into one, takes that back, and does it again. */
export async function merges(stage: Stage): Promise<Row[]> {
  const { database } = await stage.catalogue(20_000);
  const sql = openDatabase(`${stage.databaseUrl}/${database}`);
  const [keep, ...others] = await sql<{ id: number }[]>`
    insert into contributors (first_name, slug, public)
    select 'Merged ' || number, 'merged-' || number, true from generate_series(0, ${merged}::int) as number
    returning id
  `;
  await sql`
    with added as (
      insert into series (name, slug)
      select 'Merged ' || number, 'merged-series-' || number
      from generate_series(1, ${merged * seriesOfEach}::int) as number
      returning id
    )
    insert into series_contributors (contributor_id, series_id, role)
    select (${others.map(({ id }) => id)}::bigint[])[1 + id % ${merged}::int], id, 'story' from added
  `;
  await sql.end();

  const lambda = await stage.over(20_000);
  let change: number | undefined;
  const time = (name: string, payload: () => object) =>
    timed(async () => {
      const invocation = await lambda.invoke(name, payload());
      if ("error" in invocation) throw new Error(invocation.error.errorMessage);
      ({ change } = invocation.result as { change: number });
    });
  const undo = () => time("ops-undo", () => ({ change }));
  const merging = await time("ops-merge-contributors", () => ({ keep: keep?.id, merge: others.map(({ id }) => id) }));
  const [undoing, again] = [await undo(), await undo()];
  const row = (what: string, value: number): Row => ({ what, value, unit: "ms", bound });
  return [
    row(`${merged} contributors with ${seriesOfEach} series each become one`, merging),
    row("that is undone", undoing),
    row("the undo is undone", again),
  ];
}
