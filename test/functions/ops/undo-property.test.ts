import fc from "fast-check";
import { expect, it } from "vitest";
import { useAdministrator } from "../../support/callers.ts";
import { aContributor, aSeries } from "../../support/catalogue.ts";
import { aUser } from "../../support/people.ts";
import { tinyImage as image } from "../../support/pictures.ts";
import { aPermission, aRole, give } from "../../support/records.ts";
import { seed } from "../../support/seed.ts";
import type { Request } from "../../support/stack.ts";
import { contents, latestChange, settleImages, undo, undone, versions } from "../../support/undo.ts";
import { expectAgreement, useUploads } from "../../support/uploads.ts";

const stack = useUploads();
const administrator = useAdministrator(stack);

/** `COLOPHON_UNDO_CHANGES=2000` for more. */
const count = Number(process.env.COLOPHON_UNDO_CHANGES ?? 200);

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
const named = fc.record({ name: word, description: word });
const target = fc.nat(1_000);
const kind = <const Name extends string, Input>(name: Name, input: fc.Arbitrary<Input>) =>
  fc.record({ name: fc.constant(name), target, input });

const action = fc.oneof(
  { weight: 4, arbitrary: kind("admin-contributors/add", fc.record({ first_name: word, last_name: optional })) },
  { weight: 9, arbitrary: kind("admin-contributors/edit", contributorEdit) },
  { weight: 3, arbitrary: kind("patch", contributorEdit) },
  { weight: 2, arbitrary: kind("admin-contributors/delete", fc.constant({})) },
  { weight: 2, arbitrary: kind("admin-roles/add", named) },
  {
    weight: 4,
    arbitrary: kind(
      "admin-roles/edit",
      fc.record({ name: word, description: optional, added_permissions: numbers(), removed_permissions: numbers() }),
    ),
  },
  { weight: 2, arbitrary: kind("admin-roles/delete", fc.constant({})) },
  { weight: 2, arbitrary: kind("admin-permissions/add", named) },
  { weight: 2, arbitrary: kind("admin-permissions/edit", named) },
  { weight: 1, arbitrary: kind("admin-permissions/delete", fc.constant({})) },
  {
    weight: 6,
    arbitrary: kind(
      "admin-users/edit",
      fc.record({ username: word, age_verified: fc.boolean(), added_roles: numbers(), removed_roles: numbers(2) }),
    ),
  },
  { weight: 2, arbitrary: kind("admin-contributors/update-avatar", fc.constant({ image })) },
  { weight: 2, arbitrary: kind("admin-users/update-image", fc.constant({ image })) },
  { weight: 1, arbitrary: kind("admin-contributors/delete-avatar", fc.constant({})) },
  { weight: 1, arbitrary: kind("admin-users/delete-image", fc.constant({})) },
  { weight: 5, arbitrary: kind("undo", fc.boolean()) },
  { weight: 2, arbitrary: kind("merge", fc.array(fc.nat(1_000), { minLength: 1, maxLength: 3 })) },
);
type Action = typeof action extends fc.Arbitrary<infer Value> ? Value : never;

interface Element {
  readonly id: number;
  readonly contributor_id: number;
}

interface World {
  readonly contributors: number[];
  readonly aliases: Element[];
  readonly descriptions: Element[];
  readonly relations: Element[];
  readonly roles: number[];
  /** Without those of this service: the Administrator role would lose them. */
  readonly permissions: number[];
  readonly allPermissions: number[];
  readonly users: number[];
  readonly changes: number[];
}

/** What there is now. */
async function world(): Promise<World> {
  const [row] = await stack.sql<{ world: World }[]>`
    select json_build_object(
      'contributors', array(select id from contributors order by id),
      'aliases', (select coalesce(json_agg(element order by id), '[]') from contributor_aliases as element),
      'descriptions', (select coalesce(json_agg(element order by id), '[]') from contributor_descriptions as element),
      'relations', (select coalesce(json_agg(element order by id), '[]') from contributor_relations as element),
      'roles', array(select id from roles order by id),
      'permissions', array(select id from permissions where key is null order by id),
      'allPermissions', array(select id from permissions order by id),
      'users', array(select id from users where id <> ${administrator.id} order by id),
      'changes', array(select id from changes order by id)
    ) as world
  `;
  if (!row) throw new Error("There is no world");
  return row.world;
}

/** A number of an action stands for one of these. */
const pick = <Value>(values: readonly Value[], number: number): Value | undefined => values[number % values.length];
const picked = (values: readonly number[], numbers: readonly number[]) => [
  ...new Set(numbers.flatMap((number) => pick(values, number) ?? [])),
];

/** The request for an action in this world; undefined if there is nothing that it could change. */
function requestFor(
  { name, target, input }: Exclude<Action, { name: "undo" | "merge" }>,
  now: World,
): Request | undefined {
  if (name.endsWith("/add")) return { body: input };
  const owner = /contributors|patch/.test(name) ? "contributors" : /-(\w+)\//.exec(name)?.[1];
  const id = pick(now[owner as "contributors" | "roles" | "permissions" | "users"], target);
  if (id === undefined) return undefined;
  if (Object.keys(input).length === 0) return { path: { id } };
  const body = Object.fromEntries(
    Object.entries(input).map(([field, value]) => [field, withIds(field, value, id, now)]),
  );
  return {
    path: { id },
    body,
    ...(name === "patch" && { headers: { "Content-Type": "application/merge-patch+json" } }),
  };
}

function withIds(field: string, value: unknown, owner: number, now: World): unknown {
  const [, did, list = ""] = /^(added|removed|modified)_(\w+)$/.exec(field) ?? [];
  if (list === "roles") return picked(now.roles, value as number[]);
  if (list === "permissions") return picked(now.allPermissions, value as number[]);
  const others = now.contributors.filter((id) => id !== owner);
  const related = (element: Record<string, unknown>) =>
    typeof element.relation_id === "number" ? { ...element, relation_id: pick(others, element.relation_id) } : element;
  if (did === "added")
    return (value as (string | object)[]).map((each) => (typeof each === "string" ? each : related({ ...each })));
  if (did === undefined) return value;
  const own = now[list as "aliases" | "descriptions" | "relations"]
    .filter((element) => element.contributor_id === owner)
    .map(({ id }) => id);
  if (did === "removed") return picked(own, value as number[]);
  const elements = (value as { id: number }[]).flatMap((element) => {
    const id = pick(own, element.id);
    return id === undefined ? [] : [related({ ...element, id })];
  });
  return [...new Map(elements.map((element) => [element.id, element])).values()];
}

async function perform(each: Action): Promise<void> {
  const now = await world();
  if (each.name === "undo") {
    const change = pick(now.changes, each.target);
    await settleImages(stack.sql);
    if (change !== undefined) await undo(stack, { change, force: each.input });
    return;
  }
  if (each.name === "merge") {
    const keep = pick(now.contributors, each.target);
    const merge = picked(now.contributors, each.input).filter((id) => id !== keep);
    if (merge.length > 0) await stack.lambda.invoke("ops-merge-contributors", { keep, merge });
    return;
  }
  const request = requestFor(each, now);
  const name = each.name === "patch" ? "admin-contributors/edit" : each.name;
  if (request) await stack.call(name, { as: administrator.token, ...request });
}

/** Fails when a record has a lower version than it ever had. */
async function expectGrown(highest: Map<string, number>): Promise<void> {
  for (const [record, version] of await versions(stack.sql)) {
    expect({ record, version, isLower: version < (highest.get(record) ?? 0) }).toMatchObject({ isLower: false });
    highest.set(record, version);
  }
}

it(
  `Undone in reverse, ${count} random changes leave the database as it was before (seed ${seed})`,
  async () => {
    for (let number = 0; number < 5; number++) {
      const contributor = await aContributor(stack.sql, { client_id: number % 3 || null });
      await aSeries(stack.sql, { by: contributor });
      const [role, user] = [await aRole(stack.sql, "view-roles", "edit-users"), await aUser(stack.sql)];
      await give(stack.sql, user, role);
      await aPermission(stack.sql);
    }
    const first = await latestChange(stack.sql);
    const before = await contents(stack.sql);
    const highest = new Map<string, number>();

    for (const each of fc.sample(action, { seed, numRuns: count })) {
      await perform(each);
      await expectGrown(highest);
    }

    const made = await stack.sql<{ id: number }[]>`
    select id from changes where id > ${first} and (before is not null or asked is not null) order by id desc
  `;
    expect(made.length).toBeGreaterThan(count / 3);
    for (const { id } of made) {
      await settleImages(stack.sql);
      await undone(stack, id);
      await expectGrown(highest);
    }
    expect(await contents(stack.sql)).toEqual(before);
    await expectAgreement(stack);
  },
  60_000 + 1_000 * count,
);
