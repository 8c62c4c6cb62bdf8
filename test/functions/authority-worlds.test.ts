import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { declarationOf } from "../support/contract.ts";
import { aUser } from "../support/people.ts";
import { aRole, give, type Named } from "../support/records.ts";
import { type Request, useStack } from "../support/stack.ts";

const runs = Number(process.env.COLOPHON_FUZZ_RUNS ?? 30);
/** Other permissions do not exist here, so it happens often that a user has all permissions of another. */
const keys = [
  "edit-users",
  "delete-users",
  "edit-roles",
  "delete-roles",
  "edit-permissions",
  "delete-permissions",
] as const;
const endpoints = keys.map((key) => key.replace(/(\w+)-(\w+)/, "admin-$2/$1"));

type Pair = readonly [number, number];

interface World {
  /** User and role. */
  readonly members: readonly Pair[];
  /** Role and permission. */
  readonly grants: readonly Pair[];
  readonly roles: readonly number[];
  /** Ids by key. */
  readonly permissions: Readonly<Record<string, number>>;
  readonly administrator: number;
  readonly standard: number;
}

/** A request that its caller has the permission for. */
interface Attempt {
  readonly caller: number;
  readonly endpoint: string;
  /** A user, a role or a permission. */
  readonly target: number;
  readonly added: readonly number[];
  readonly removed: readonly number[];
}

const stack = useStack();
/** Tokens by user. */
const tokens = new Map<number, string>();

beforeAll(async () => {
  await stack.sql`delete from permissions where key <> all(${[...keys]})`;
});

const minus = (pairs: readonly Pair[], others: readonly Pair[]) =>
  pairs.filter(([one, two]) => !others.some(([left, right]) => one === left && two === right));
const secondsOf = (pairs: readonly Pair[], first: number) =>
  pairs.filter(([one]) => one === first).map(([, two]) => two);
const includesAll = (all: readonly number[], some: readonly number[]) => some.every((each) => all.includes(each));

/** What an attempt would make of a world. */
function after(world: World, { endpoint, target, added, removed }: Attempt): World {
  const edited = (pairs: readonly Pair[]) => {
    const additions = added.map((id): Pair => [target, id]);
    return minus(
      [...pairs, ...minus(additions, pairs)],
      removed.map((id): Pair => [target, id]),
    );
  };
  const { standard } = world;
  let { members, grants } = world;
  if (endpoint === "admin-users/edit") members = edited(members);
  if (endpoint === "admin-users/delete") members = members.filter(([user]) => user !== target);
  if (endpoint === "admin-roles/edit") grants = edited(grants);
  if (endpoint === "admin-roles/delete") members = members.filter(([, role]) => role !== target);
  if (endpoint === "admin-roles/delete") grants = grants.filter(([role]) => role !== target);
  if (endpoint === "admin-permissions/delete") grants = grants.filter(([, permission]) => permission !== target);
  const without = usersOf(world).filter((user) => secondsOf(members, user).length === 0);
  const orphans = without.filter((user) => endpoint !== "admin-users/delete" || user !== target);
  return { ...world, grants, members: [...members, ...orphans.map((user): Pair => [user, standard])] };
}

const sorted = (pairs: readonly Pair[]) => pairs.map(String).sort();
const usersOf = ({ members }: World) => [...new Set(members.map(([user]) => user))];
const can = ({ members, grants }: World, user: number) =>
  secondsOf(members, user).flatMap((role) => secondsOf(grants, role));
const administrators = ({ members, administrator }: World) =>
  members.filter(([, role]) => role === administrator).map(([user]) => user);

/** The numbers of the rules that forbid an attempt ("Who may do what" in the README). */
function rulesAgainst(world: World, attempt: Attempt): number[] {
  const { caller, endpoint, target } = attempt;
  const { administrator, grants, members } = world;
  const next = after(world, attempt);
  const own = can(world, caller);
  const outranks = (user: number) => includesAll(can(world, user), own) && !includesAll(own, can(world, user));
  const received = [
    ...minus(next.members, members).flatMap(([, role]) => secondsOf(grants, role)),
    ...minus(next.grants, grants).map(([, permission]) => permission),
    ...(endpoint.startsWith("admin-permissions") ? [target] : []),
  ];
  const isWeakened = (user: number) => !includesAll(can(next, user), can(world, user));
  const weakened = endpoint.startsWith("admin-roles") ? usersOf(next).filter(isWeakened) : [];
  const demoted = administrators(world).filter((user) => !administrators(next).includes(user));
  const promoted = administrators(next).filter((user) => !administrators(world).includes(user));
  const stripped = minus(grants, next.grants).filter(([role]) => role === administrator);
  const actsOnRole = endpoint.startsWith("admin-roles") && target === administrator;
  const forbidden = [
    !includesAll(own, received),
    (endpoint.startsWith("admin-users") ? [target] : weakened).some(outranks),
    ((promoted.length > 0 || demoted.length > 0 || stripped.length > 0 || actsOnRole) &&
      !administrators(world).includes(caller)) ||
      (demoted.length > 0 && administrators(next).length === 0) ||
      (actsOnRole && (stripped.length > 0 || endpoint === "admin-roles/delete")),
  ];
  return forbidden.flatMap((isForbidden, index) => (isForbidden ? [index + 1] : []));
}

/** Makes the world anew: the first role is the default one, and the last number of a user's means Administrator. */
async function create(roles: readonly (readonly (typeof keys)[number][])[], users: readonly (readonly number[])[]) {
  const { sql } = stack;
  await sql`delete from users`;
  await sql`delete from roles where key is null`;
  await sql`insert into permissions (key, name) select key, key from unnest(${[...keys]}::text[]) as key on conflict do nothing`;
  const [administrator = { id: 0 }] = await sql<{ id: number }[]>`select id from roles where key = 'administrator'`;
  await sql`
    insert into role_permissions (role_id, permission_id) select ${administrator.id}, id from permissions
    on conflict do nothing
  `;
  const created: Named[] = [];
  for (const permissions of roles) created.push(await aRole(sql, ...permissions));
  await sql`update roles set is_default = 1 where id = ${created[0]?.id ?? 0}`;
  for (const own of users) {
    const user = await aUser(sql);
    tokens.set(user.id, user.token);
    await give(sql, user, ...own.map((number) => created[number] ?? administrator));
  }
}

async function read(): Promise<World> {
  const [world] = await stack.sql<World[]>`
    select
      (select json_agg(json_build_array(user_id, role_id)) from user_roles) as members,
      (select coalesce(json_agg(json_build_array(role_id, permission_id)), '[]') from role_permissions) as grants,
      (select json_agg(id order by id) from roles) as roles,
      (select coalesce(json_object_agg(key, id), '{}') from permissions) as permissions,
      (select id from roles where key = 'administrator') as administrator,
      (select id from roles where is_default = 1) as standard
  `;
  if (!world) throw new Error("There is no world");
  return world;
}

/** The attempt that these numbers choose; undefined if no user has the permission for it. */
function attemptOf(world: World, { endpoint, ...choice }: Attempt): Attempt | undefined {
  const pick = (from: readonly number[], number: number) => from[number % from.length] ?? 0;
  const permission = world.permissions[keys[endpoints.indexOf(endpoint)] ?? ""] ?? 0;
  const callers = usersOf(world).filter((user) => can(world, user).includes(permission));
  const permissions = Object.values(world.permissions);
  const targets: Readonly<Record<string, readonly number[]>> = {
    "admin-users/edit": usersOf(world),
    "admin-users/delete": usersOf(world),
    "admin-roles/edit": world.roles,
    "admin-roles/delete": world.roles.filter((role) => role !== world.standard),
  };
  if (callers.length === 0) return undefined;
  const target = pick(targets[endpoint] ?? permissions, choice.target);
  const [pairs, elements] =
    endpoint === "admin-users/edit" ? [world.members, world.roles] : [world.grants, permissions];
  const current = secondsOf(pairs, target);
  return {
    endpoint,
    target,
    caller: pick(callers, choice.caller),
    added: [...new Set(choice.added.map((number) => pick(elements, number)))],
    removed: choice.removed.map((number) => pick(current.length > 0 ? current : elements, number)),
  };
}

function requestOf({ caller, endpoint, target, added, removed }: Attempt): Request {
  const name = `${endpoint} ${target}`;
  const body = {
    name,
    username: name,
    description: "Edited",
    ...(endpoint === "admin-users/edit" ? { added_roles: added, removed_roles: removed } : {}),
    ...(endpoint === "admin-roles/edit" ? { added_permissions: added, removed_permissions: removed } : {}),
  };
  return { as: tokens.get(caller), path: { id: target }, ...(endpoint.endsWith("/edit") ? { body } : {}) };
}

const numbers = fc.array(fc.nat(100), { maxLength: 2 });
const edits = ["admin-users/edit", "admin-roles/edit"];
const choice = fc.record({
  // What ends a world comes less often.
  endpoint: fc.constantFrom(...endpoints, ...edits, ...edits, "admin-roles/delete", "admin-roles/delete"),
  caller: fc.nat(100),
  target: fc.nat(100),
  added: numbers,
  removed: numbers,
});

it("Requests in arbitrary worlds get 403 if one of the three rules forbids them, and 200 otherwise", async () => {
  const roles = fc.array(fc.subarray([...keys], { minLength: 1, maxLength: 4 }), { minLength: 4, maxLength: 4 });
  const users = fc.array(fc.subarray([0, 1, 2, 3, 4], { minLength: 1, maxLength: 2 }), { minLength: 6, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(roles, users, fc.array(choice, { minLength: 4, maxLength: 10 }), async (roles, users, choices) => {
      await create(roles, users);
      let before = await read();
      for (const each of choices) {
        const attempt = attemptOf(before, each);
        if (!attempt) continue;
        const rules = rulesAgainst(before, attempt);
        const { forbids } = declarationOf(attempt.endpoint);
        const expected = rules.length > 0 ? before : after(before, attempt);

        expect(Object.keys(forbids ?? {})).toEqual(expect.arrayContaining(rules.map(String)));
        const { status } = await stack.call(attempt.endpoint, requestOf(attempt));

        const next = await read();
        expect({ before, attempt, rules, status }).toMatchObject({ status: rules.length > 0 ? 403 : 200 });
        expect(sorted(next.members)).toEqual(sorted(expected.members));
        expect(sorted(next.grants)).toEqual(sorted(expected.grants));
        before = next;
      }
    }),
    { numRuns: runs },
  );
});
