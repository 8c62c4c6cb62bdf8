import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import type { UndoResult } from "../../../lib/operators/undo/undo-result.ts";
import { useAdministrator } from "../../support/callers.ts";
import { aContributor, aSeries } from "../../support/catalogue.ts";
import { values } from "../../support/database.ts";
import { aUser } from "../../support/people.ts";
import { tinyImage as image } from "../../support/pictures.ts";
import {
  type Column,
  deleteRow,
  insertRow,
  pick,
  updateRow,
  valueFor,
  type World,
  worldOf,
  writableColumns,
} from "../../support/random-rows.ts";
import { aPermission, aRole, defaultRoleId, give } from "../../support/records.ts";
import { rounds } from "../../support/rounds.ts";
import { seed } from "../../support/seed.ts";
import type { Request } from "../../support/stack.ts";
import {
  contents,
  latestChange,
  type Row,
  type Rows,
  rowsOf,
  settleImages,
  undo,
  undone,
  withoutVersions,
} from "../../support/undo.ts";
import { expectAgreement, useUploads } from "../../support/uploads.ts";

const stack = useUploads();
const administrator = useAdministrator(stack);

/** `COLOPHON_UNDO_CHANGES=2000` for more. */
const count = Number(process.env.COLOPHON_UNDO_CHANGES ?? 100);

/** Some of few, so that changes meet. */
const word = fc.constantFrom("Ada", "Bea", "Cy", "Dan", "Eve", "ÉVE", "漢");
const optional = fc.option(word);
const languages = fc.constantFrom("English", "French", "ja");
const links = fc.array(
  fc.constantFrom("a", "b", "c", "d", "e").map((host) => `https://${host}.example`),
  { maxLength: 5 },
);
const numbers = (maxLength = 3) => fc.array(fc.nat(1_000), { maxLength });
const few = <Value>(values: fc.Arbitrary<Value>) => fc.array(values, { maxLength: 3 });

const list = <Value>(values: fc.Arbitrary<Value>) => fc.uniqueArray(values, { maxLength: 3, selector: JSON.stringify });
const people = fc.constantFrom("c0", "c1", "c2", "c6");
const houses = fc.constantFrom("p0", "p1", "p2");
const described = list(fc.record({ language: languages, description: word }));

/** Lines about few records, so that they meet; what `more` says may be left out. */
const lineOf = (kind: string, fields: Record<string, fc.Arbitrary<unknown>>, more: typeof fields = {}) =>
  fc
    .record({ ...fields, ...more }, { requiredKeys: Object.keys(fields) })
    .map((values): object => ({ kind, ...values }));
const line = fc.oneof(
  lineOf("publisher", { externalId: houses, name: word }, { short_name: optional, descriptions: described }),
  lineOf("publisher-relation", { from: houses, to: houses, type: word }),
  lineOf("contributor", { externalId: people, first_name: word }, { gender: optional, links, aliases: few(word) }),
  lineOf("contributor-relation", { from: people, to: people, relation_type: word }),
  lineOf("series", {
    externalId: fc.constantFrom("s0", "s1"),
    name: word,
    tags: list(word),
    aliases: few(fc.record({ name: word, language: languages })),
    descriptions: described,
    volumes: fc.uniqueArray(fc.record({ number: fc.integer({ min: 1, max: 4 }), nsfw: fc.nat(1) }), {
      selector: ({ number }) => number,
    }),
    contributors: list(fc.record({ contributor: people })),
    publishers: list(houses),
  }),
);

/** Enough that most lines are done. */
const basis = [
  ...["c0", "c1", "c2"].map((id) => ({ kind: "contributor", externalId: id, first_name: id, aliases: ["A"] })),
  ...["p0", "p1", "p2"].map((externalId) => ({ kind: "publisher", externalId, name: externalId })),
  { kind: "series", externalId: "s0", name: "Series", tags: ["drama"], contributors: [{ contributor: "c0" }] },
];

const contributorEdit = fc.record(
  {
    first_name: word,
    last_name: optional,
    gender: optional,
    type: optional,
    public: fc.boolean(),
    links,
    added_aliases: few(word),
    removed_aliases: numbers(),
    added_descriptions: few(fc.record({ description: word, language: languages, source: word })),
    removed_descriptions: numbers(2),
    modified_descriptions: few(
      fc.record({ id: fc.nat(1_000), description: word, language: languages, source: word }, { requiredKeys: ["id"] }),
    ),
    added_relations: few(fc.record({ relation_id: fc.nat(1_000), relation_type: word })),
    removed_relations: numbers(2),
    modified_relations: few(
      fc.record({ id: fc.nat(1_000), relation_id: fc.nat(1_000), relation_type: word }, { requiredKeys: ["id"] }),
    ),
  },
  { requiredKeys: ["first_name"] },
);
const namedInput = fc.record({ name: word, description: word });
const lists = { added_permissions: numbers(), removed_permissions: numbers() };
const roleEdit = fc.record({ name: word, description: optional, ...lists });
const roles = { added_roles: numbers(), removed_roles: numbers(2) };
const userEdit = fc.record({ username: word, age_verified: fc.boolean(), ...roles });
const nothing = fc.constant({});
const target = fc.nat(1_000);
/** An action with its input, so often in comparison with the others. */
const often = <const Name extends string, Input>(weight: number, name: Name, input: fc.Arbitrary<Input>) => ({
  weight,
  arbitrary: fc.record({ name: fc.constant(name), target, input }),
});

const action = fc.oneof(
  often(4, "admin-contributors/add", fc.record({ first_name: word, last_name: optional })),
  often(9, "admin-contributors/edit", contributorEdit),
  often(3, "patch", contributorEdit),
  often(2, "admin-contributors/delete", nothing),
  often(2, "admin-roles/add", namedInput),
  often(4, "admin-roles/edit", roleEdit),
  often(2, "admin-roles/delete", nothing),
  often(2, "admin-permissions/add", namedInput),
  often(2, "admin-permissions/edit", namedInput),
  often(1, "admin-permissions/delete", nothing),
  often(6, "admin-users/edit", userEdit),
  often(2, "admin-contributors/update-avatar", fc.constant({ image })),
  often(2, "admin-users/update-image", fc.constant({ image })),
  often(1, "admin-contributors/delete-avatar", nothing),
  often(1, "admin-users/delete-image", nothing),
  often(6, "undo", nothing),
  often(2, "merge", fc.array(fc.nat(1_000), { minLength: 1, maxLength: 3 })),
  often(3, "import", fc.array(line, { minLength: 1, maxLength: 8 })),
  often(4, "insert by SQL", fc.nat(1_000)),
  often(4, "delete by SQL", fc.nat(1_000)),
);
type Action =
  | (typeof action extends fc.Arbitrary<infer Value> ? Value : never)
  | { readonly name: "update by SQL"; readonly target: number; readonly input: Column };

const world = () => worldOf(stack.sql);
const columns = () => writableColumns(stack.sql);

const picked = (values: readonly number[], numbers: readonly number[]) => [
  ...new Set(numbers.flatMap((number) => pick(values, number) ?? [])),
];

/** The request for an action in this world; undefined if there is nothing that it could change. */
function requestFor(name: string, target: number, input: object, now: World): Request | undefined {
  if (name.endsWith("/add")) return { body: input };
  const owner = name === "patch" ? "contributors" : (/-(\w+)\//.exec(name)?.[1] ?? "");
  // Without the permissions of this service, which the Administrator role would lose, and without the administrator.
  const others = now.of(owner).filter(({ id, key }) => (owner !== "permissions" ? !isAdministrator(owner, id) : !key));
  const ids = others.map((row) => Number(row.id));
  const id = pick(ids, target);
  if (id === undefined) return undefined;
  const fields = Object.entries(input).map(([field, value]) => [field, withIds(field, value, id, now)]);
  const headers = { "Content-Type": "application/merge-patch+json" };
  return {
    path: { id },
    ...(fields.length > 0 && { body: Object.fromEntries(fields) }),
    ...(name === "patch" && { headers }),
  };
}

const isAdministrator = (table: string, id: unknown) => table === "users" && id === administrator.id;

function withIds(field: string, value: unknown, owner: number, now: World): unknown {
  const [, operation, list = ""] = /^(added|removed|modified)_(\w+)$/.exec(field) ?? [];
  if (operation === undefined) return value;
  if (list === "roles" || list === "permissions") return picked(now.idsOf(list), value as number[]);
  const others = now.idsOf("contributors").filter((id) => id !== owner);
  const related = (element: Record<string, unknown>) =>
    typeof element.relation_id === "number" ? { ...element, relation_id: pick(others, element.relation_id) } : element;
  if (operation === "added")
    return (value as (string | object)[]).map((each) => (typeof each === "string" ? each : related({ ...each })));
  const own = now.of(`contributor_${list}`).filter((row) => row.contributor_id === owner);
  const ids = own.map(({ id }) => Number(id));
  if (operation === "removed") return picked(ids, value as number[]);
  const elements = (value as { id: number }[]).flatMap((element) => {
    const id = pick(ids, element.id);
    return id === undefined ? [] : [related({ ...element, id })];
  });
  return [...new Map(elements.map((element) => [element.id, element])).values()];
}

/** The rows that other programs write: all but those of the administrator, and roles and permissions of this service. */
async function writableRows(table: string, now: World): Promise<Row[]> {
  const [role] = await stack.sql`select id from roles where key = 'administrator'`;
  const isOfService = (row: Row) => row.role_id === role?.id || row.key || row.is_default === 1;
  const isOfAdministrator = (row: Row) => isAdministrator(table, row.id) || row.user_id === administrator.id;
  return now.of(table).filter((row) => !isOfService(row) && !isOfAdministrator(row));
}

async function insertBySql(table: string, number: number, { idsOf }: World): Promise<void> {
  const own = (await columns()).filter((column) => column.table === table);
  await insertRow(stack.sql, own, number, idsOf);
}

/** Returns an undo's result, and whether there was no row yet for a new value. */
async function perform(each: Action): Promise<{ result?: UndoResult; isOpen?: true }> {
  const now = await world();
  const { name, target, input } = each;
  if (name === "undo") {
    const change = pick(await changesSince(first), target);
    await settleImages(stack.sql);
    return change === undefined ? {} : { result: await undo(stack, { change }) };
  }
  if (name === "merge" || name === "import") {
    const keep = pick(now.idsOf("contributors"), target);
    const merge = name === "merge" ? picked(now.idsOf("contributors"), input).filter((id) => id !== keep) : [];
    if (merge.length > 0) await stack.lambda.invoke("ops-merge-contributors", { keep, merge });
    if (name === "import") await importing(input);
  } else if (name === "update by SQL") {
    const { table } = input;
    const rows = await writableRows(table, now);
    for (let number = target; number < target + 20; number++)
      if (await updateRow(stack.sql, input, valueFor(input, number, now.idsOf), pick(rows, number))) return {};
    if (input.isFree) await insertBySql(table, target, now);
    return { isOpen: true };
  } else if (name === "insert by SQL" || name === "delete by SQL") {
    const free = (await columns()).filter(({ isFree }) => isFree);
    const { table } = pick(free, target) as Column;
    if (name === "insert by SQL") await insertBySql(table, input, now);
    else await deleteRow(stack.sql, table, pick(await writableRows(table, now), input));
  } else {
    const request = requestFor(name, target, input, now);
    const endpoint = name === "patch" ? "admin-contributors/edit" : name;
    if (request) await administrator.call(endpoint, request);
  }
  return {};
}

const importing = (lines: readonly object[]) =>
  stack.lambda.invoke("ops-import", { source: lines.map((each) => `${JSON.stringify(each)}\n`).join("") });

/** The changes that did something to rows, newest first. */
const changesSince = (first: number): Promise<number[]> =>
  values(stack.sql`select distinct change_id from history where change_id > ${first} order by 1 desc`);

/** What a change did to rows: each before and after. */
type Delta = ReadonlyMap<string, readonly [old: Row | undefined, now: Row | undefined]>;

function deltaOf(before: Rows, after: Rows): Delta {
  const names = Object.keys({ ...before, ...after }).filter((name) => !isDeepStrictEqual(before[name], after[name]));
  return new Map(names.map((name) => [name, [before[name], after[name]]]));
}

const changedColumns = (old: Row = {}, now: Row = {}) =>
  Object.keys({ ...old, ...now }).filter((column) => !isDeepStrictEqual(old[column], now[column]));

/** Whether a row is as the change left it. */
function isAsLeft(current: Row | undefined, [old, now]: readonly [Row | undefined, Row | undefined]): boolean {
  if (!current || !old || !now) return isDeepStrictEqual(current, now);
  return changedColumns(old, now).every((column) => isDeepStrictEqual(current[column], now[column]));
}

/** The rows when a change is taken back. Users without any role get the default role, as a row with values of its own. */
function takenBack(current: Rows, delta: Delta, defaultRole: number, after: Rows): Rows {
  const rows: Record<string, Row> = { ...current };
  for (const [name, [old, now]] of delta) {
    const columns = now ? changedColumns(old, now) : Object.keys(old ?? {});
    if (now) delete rows[name];
    if (old) rows[name] = { ...current[name], ...Object.fromEntries(columns.map((column) => [column, old[column]])) };
  }
  const withRole = new Set(
    Object.entries(rows).flatMap(([name, row]) => (name.startsWith("user_roles ") ? row.user_id : [])),
  );
  for (const name of delta.keys()) {
    const [, user] = /^user_roles \[(\d+),/.exec(name) ?? [];
    if (user === undefined || withRole.has(Number(user))) continue;
    const ofDefault = `user_roles [${user}, ${defaultRole}]`;
    rows[ofDefault] = { ...after[ofDefault], user_id: Number(user), role_id: defaultRole };
  }
  return rows;
}

/** Why a change is left as it is although its rows are as it left them. */
const reasons =
  /^(It was undone by change|Rows that were added since would go|The Administrator role would lose|The slug .* would be|Another .* has the same|The .* would reference|.* would have \d+ )/;

/** Compares what an undo did, and what it returns, with the model. */
function expectAgreementWith(delta: Delta, result: UndoResult, before: Rows, after: Rows, role: number) {
  const areAsLeft = [...delta].every(([name, values]) => isAsLeft(before[name], values));
  const [undone] = result.undone;
  if (undone) {
    expect({ undone, areAsLeft }).toMatchObject({ undone: { missing: [] }, areAsLeft: true });
    expect(deltaOf(takenBack(before, delta, role, after), after)).toEqual(new Map());
    return;
  }
  expect(deltaOf(before, after)).toEqual(new Map());
  const [{ change, reason, differing }] = result.refused as [UndoResult["refused"][number]];
  const hasChanged = reason === "Its rows have changed since";
  if (!/^It was undone/.test(reason)) expect({ change, reason, areAsLeft: !hasChanged }).toMatchObject({ areAsLeft });
  if (hasChanged) expect(differing).not.toEqual([]);
  else expect(reason).toMatch(reasons);
  for (const { later } of differing) expect(later?.change).toBeGreaterThan(change);
}

/** Fails when a record has a lower version than it ever had. */
function expectGrown(highest: Map<string, number>, rows: Rows): void {
  for (const [name, { version }] of Object.entries(rows)) {
    if (typeof version !== "number") continue;
    expect({ name, version, isLower: version < (highest.get(name) ?? 0) }).toMatchObject({ isLower: false });
    highest.set(name, version);
  }
}

/** Takes everything back, the newest first, and compares. */
async function expectUnwound(since: number, before: unknown): Promise<void> {
  for (const change of await changesSince(since)) {
    await settleImages(stack.sql);
    await undone(stack, change);
  }
  expect(await contents(stack.sql)).toEqual(before);
  await expectAgreement(stack);
}

let first: number;

beforeAll(async () => {
  // Each table has a column that no file names, and no two rows have the same in it.
  for (const { name } of await stack.sql<{ name: string }[]>`select table_name as name from history_tables()`)
    await stack.sql.query(`alter table ${name} add column unheard_of text default gen_random_uuid()`);
  for (let number = 0; number < 5; number++) {
    const contributor = await aContributor(stack.sql, { client_id: number % 3 || null });
    await aSeries(stack.sql, { by: contributor });
    const [role, user] = [await aRole(stack.sql, "view-roles", "edit-users"), await aUser(stack.sql)];
    await give(stack.sql, user, role);
    await aPermission(stack.sql);
  }
  await importing(basis);
  for (const { table } of await columns()) for (const number of [1, 2]) await insertBySql(table, number, await world());
  await stack.sql`
    insert into user_roles (user_id, role_id)
    select id, ${await defaultRoleId(stack.sql)} from users where id not in (select user_id from user_roles)
  `;
});

it(`What the service does at once is taken back in reverse (seed ${seed})`, async () => {
  const before = await contents(stack.sql);
  first = await latestChange(stack.sql);
  // Other programs draw the id of a change before they wait, and images would have to be waited for.
  const actions = fc
    .sample(action, { seed, numRuns: 40 * rounds })
    .filter(({ name }) => !/SQL|image|avatar/.test(name));
  for (let place = 0; place < actions.length; place += 5)
    await Promise.all(actions.slice(place, place + 5).map(perform));
  expect((await changesSince(first)).length).toBeGreaterThan(5 * rounds);
  await expectUnwound(first, before);
}, 120_000);

it(
  `Of ${count} random changes any is taken back as a model says, and all of them in reverse (seed ${seed})`,
  async () => {
    const { idsOf } = await world();
    for (const name of ["admin-contributors/update-avatar", "admin-users/update-image"])
      for (const id of idsOf(name.replace(/^admin-|\/.*/g, "")).slice(1, 3))
        await administrator.call(name, { path: { id }, body: { image } });
    first = await latestChange(stack.sql);
    const before = await contents(stack.sql);
    const role = await defaultRoleId(stack.sql);
    const highest = new Map<string, number>();
    const deltas = new Map<number, Delta>();
    // Another key of an identity is another identity, and those are not taken back.
    const everyColumn = (await columns())
      .filter(({ column }) => !["issuer", "subject"].includes(column))
      .map((input, place) => ({ name: "update by SQL", target: seed + place, input }) as const);
    const all = [...fc.sample(action, { seed, numRuns: count }), ...everyColumn];
    const shuffled = fc.shuffledSubarray(all, { minLength: all.length });
    const [actions = []]: Action[][] = fc.sample(shuffled, { seed, numRuns: 1 });

    let rows = await rowsOf(stack.sql);
    for (const each of actions) {
      const [latest = 0] = await changesSince(first);
      const { result, isOpen } = await perform(each);
      if (isOpen) actions.push({ ...each, target: each.target + 1 } as Action);
      const current = await rowsOf(stack.sql);
      expectGrown(highest, current);
      const [old, now] = [withoutVersions(rows), withoutVersions(current)];
      const [change, ...others] = (await changesSince(first)).filter((id) => id > latest);
      // An import of several lines about one record is several changes, between which the rows are not known.
      if (each.name !== "import") expect(others).toEqual([]);
      if (change !== undefined && others.length === 0) deltas.set(change, deltaOf(old, now));
      const undoneDelta = result && deltas.get([...result.undone, ...result.refused][0]?.change ?? 0);
      if (undoneDelta) expectAgreementWith(undoneDelta, result, old, now, role);
      rows = current;
    }

    expect(deltas.size).toBeGreaterThan(count / 2);
    await expectUnwound(first, before);
    expectGrown(highest, await rowsOf(stack.sql));
  },
  120_000 + 1_000 * count,
);
