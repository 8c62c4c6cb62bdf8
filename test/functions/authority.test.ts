import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Permission, permissions } from "../../lib/contract/permissions.ts";
import { declarationOf } from "../support/contract.ts";
import { envelope, forbiddenBy } from "../support/envelope.ts";
import { anAdministrator, aUser, holderOf, type Person } from "../support/people.ts";
import { aPermission, aRole, defaultRoleId, give, type Named, permissionId, roleIdsOf } from "../support/records.ts";
import { type Reply, type Request, useStack } from "../support/stack.ts";
import { unchanged } from "../support/unchanged.ts";

/* The three rules in lib/contract/README.md, "Who may do what": attacks on them, and a model of all that they forbid and allow. */

const stack = useStack();

const editUser = (by: Person, { id, username }: Person, roles: { added_roles?: number[]; removed_roles?: number[] }) =>
  stack.call("admin-users/edit", { as: by.token, path: { id }, body: { username, ...roles } });
const editRole = (by: Person, { id, name }: Named, changes: object = {}) =>
  stack.call("admin-roles/edit", { as: by.token, path: { id }, body: { name, ...changes } });
const remove = (by: Person, what: "users" | "roles" | "permissions", id: number) =>
  stack.call(`admin-${what}/delete`, { as: by.token, path: { id } });

async function expectForbidden(rule: 1 | 2 | 3, ...requests: readonly (() => Promise<Reply>)[]): Promise<void> {
  for (const request of requests) expect((await unchanged(stack, request)).body).toEqual(forbiddenBy(rule));
}

/** A user with these roles alone. */
async function userOf(...roles: readonly Named[]): Promise<Person> {
  const user = await aUser(stack.sql);
  await give(stack.sql, user, ...roles);
  return user;
}

async function administratorRole(): Promise<Named> {
  const [{ id = 0, name = "" } = {}] = await stack.sql`select id, name from roles where key = 'administrator'`;
  return { id, name };
}

/** A user with all permissions, but without the Administrator role. */
const everythingElse = async () => userOf(await aRole(stack.sql, ...(Object.keys(permissions) as Permission[])));

it("A permission that this service does not check is granted, and taken from anybody, by all who may edit", async () => {
  const caller = await holderOf(stack.sql, "edit-roles", "delete-roles", "edit-users", "view-roles");
  const foreign = await aPermission(stack.sql);
  const [role, more] = [await aRole(stack.sql, "view-roles"), await aRole(stack.sql, "view-users")];
  const changes = { added_permissions: [foreign.id] };
  const superior = await holderOf(stack.sql, "edit-roles", "delete-roles", "edit-users", "view-roles", "view-users");
  await give(stack.sql, superior, role);

  expect((await editRole(caller, role, changes)).status).toBe(200);
  expect((await editUser(caller, await userOf(more), { added_roles: [role.id] })).status).toBe(200);
  // The role lacks the second permission, so it cannot lose it.
  const removed_permissions = [foreign.id, await permissionId(stack.sql, "view-users")];
  expect((await editRole(caller, role, { removed_permissions })).status).toBe(200);
  await editRole(caller, role, changes);
  expect((await remove(caller, "roles", role.id)).status).toBe(200);
});

it.each([
  ["editing", "edit-roles"],
  ["deleting", "delete-roles"],
] as const)(
  "Nobody weakens a user who has all of their permissions and more by %s a role, to delete the user afterwards",
  async (_, permission) => {
    const moderator = await holderOf(stack.sql, permission, "delete-users");
    const role = await aRole(stack.sql, permission, "delete-users", "view-users");
    const superior = await userOf(role);
    const removed_permissions = [await permissionId(stack.sql, "view-users")];

    await expectForbidden(
      2,
      () =>
        permission === "edit-roles"
          ? editRole(moderator, role, { removed_permissions })
          : remove(moderator, "roles", role.id),
      () => remove(moderator, "users", superior.id),
    );
  },
);

it("Nobody hands out a permission that they lack by taking somebody's last role, so that they get the default one", async () => {
  const { sql } = stack;
  const defaultRole = await defaultRoleId(sql);
  const granted = await permissionId(sql, "view-contributors");
  await sql`insert into role_permissions (role_id, permission_id) values (${defaultRole}, ${granted})`;
  const caller = await holderOf(sql, "edit-users", "delete-roles");
  const able = await holderOf(sql, "edit-users", "delete-roles", "view-contributors");
  const [own = 0] = await roleIdsOf(sql, caller);
  const [one, other] = [await aRole(sql), await aRole(sql)];
  const user = await userOf(one, other);
  const [roles, last] = [[one.id, other.id], { removed_roles: [one.id] }];

  await expectForbidden(
    1,
    () => editUser(caller, user, { removed_roles: roles }),
    () => editUser(caller, user, { added_roles: roles, removed_roles: roles }),
    () => remove(caller, "roles", own),
  );
  expect((await remove(caller, "roles", other.id)).status).toBe(200);
  await expectForbidden(
    1,
    () => editUser(caller, user, last),
    () => remove(caller, "roles", one.id),
  );

  expect((await editUser(able, user, last)).status).toBe(200);
  // A user without another role gets the default role back, so no user gets anything.
  expect((await editUser(caller, user, { removed_roles: [defaultRole] })).status).toBe(200);
  expect(await roleIdsOf(sql, user)).toEqual([defaultRole]);
  await sql`delete from role_permissions where role_id = ${defaultRole}`;
});

describe("Only its holders act on the Administrator role", () => {
  it("which keeps the fifteen; it may be renamed, and get what this service does not check", async () => {
    const administrator = await anAdministrator(stack.sql);
    const [role, foreign] = [await administratorRole(), await aPermission(stack.sql)];
    const own = await permissionId(stack.sql, "delete-users");

    await expectForbidden(3, () => editRole(administrator, role, { removed_permissions: [foreign.id, own] }));
    const [added_permissions, removed_permissions] = [[foreign.id], [foreign.id]];
    for (const fields of [{ added_permissions }, { removed_permissions }, { name: "Chief" }, {}])
      expect((await editRole(administrator, role, fields)).status).toBe(200);
  });

  it("also when somebody else has all permissions, since one has been deleted", async () => {
    const [administrator, other] = [await anAdministrator(stack.sql), await anAdministrator(stack.sql)];
    const climber = await everythingElse();
    const role = await administratorRole();
    const missing = await permissionId(stack.sql, "delete-contributors");
    const deletable = await permissionId(stack.sql, "add-contributors");
    await stack.sql`delete from role_permissions where permission_id = ${missing} and role_id <> ${role.id}`;
    expect((await remove(administrator, "permissions", missing)).status).toBe(200);

    await expectForbidden(
      3,
      () => editRole(climber, role),
      () => editRole(climber, role, { added_permissions: [deletable] }),
      () => editRole(climber, role, { removed_permissions: [deletable] }),
      () => remove(climber, "roles", role.id),
      () => editUser(climber, other, { removed_roles: [role.id] }),
      () => remove(climber, "users", other.id),
      () => remove(climber, "permissions", deletable),
    );
    expect((await editRole(administrator, role)).status).toBe(200);
    expect((await editUser(administrator, other, { removed_roles: [role.id] })).status).toBe(200);
  });

  it("of which deleting one of the fifteen permissions takes it", async () => {
    const administrator = await anAdministrator(stack.sql);
    const other = await everythingElse();
    const id = await permissionId(stack.sql, "view-permissions");
    const body = { name: "See permissions", description: "Renamed" };

    await expectForbidden(3, () => remove(other, "permissions", id));
    const renamed = await stack.call("admin-permissions/edit", { as: other.token, path: { id }, body });

    expect(renamed.status).toBe(200);
    expect((await remove(administrator, "permissions", id)).body).toEqual(envelope(200, "Permission deleted"));
  });

  it("and nobody deletes it, even if it has no users", async () => {
    const other = await everythingElse();
    const role = await administratorRole();
    await stack.sql`delete from user_roles where role_id = ${role.id}`;

    await expectForbidden(
      3,
      () => remove(other, "roles", role.id),
      () => editRole(other, role),
    );
    const administrator = await anAdministrator(stack.sql);
    await expectForbidden(3, () => remove(administrator, "roles", role.id));
  });

  it("and only they grant it, also when it is the default role", async () => {
    const [administrator, other] = [await anAdministrator(stack.sql), await everythingElse()];
    const role = await administratorRole();
    const single = await aRole(stack.sql);
    const user = await userOf(single);

    await expectForbidden(3, () => editUser(other, other, { added_roles: [role.id] }));
    await stack.sql`update roles set is_default = 0`;
    await stack.sql`update roles set is_default = 1 where id = ${role.id}`;
    await expectForbidden(
      3,
      () => editUser(other, user, { removed_roles: [single.id] }),
      () => remove(other, "roles", single.id),
    );
    expect((await editUser(administrator, user, { removed_roles: [single.id] })).status).toBe(200);
    expect(await roleIdsOf(stack.sql, user)).toEqual([role.id]);
  });

  it("and nobody climbs to it who holds the permissions that are left, and restores the others", async () => {
    const { sql } = stack;
    const left: Permission[] = ["edit-users", "add-permissions", "view-users", "view-roles"];
    const climber = await holderOf(sql, ...left);
    const role = await administratorRole();
    await sql`delete from permissions where key <> all(${left})`;

    await expectForbidden(3, () => editUser(climber, climber, { added_roles: [role.id] }));
    for (const name of Object.keys(permissions).filter((key) => !left.some((each) => each === key)))
      await stack.call("admin-permissions/add", { as: climber.token, body: { name, description: "Restored" } });

    const { body } = await stack.call("session", { as: climber.token });
    expect(body.permissions.toSorted()).toEqual(left.toSorted());
  });
});

const runs = Number(process.env.COLOPHON_FUZZ_RUNS ?? 30);
/** Other permissions do not exist here, so it happens often that a user has all permissions of another. */
const keys = (["users", "roles", "permissions"] as const).flatMap(
  (kind) => [`edit-${kind}`, `delete-${kind}`] as const,
);
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

/** Tokens by user. */
const tokens = new Map<number, string>();

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

it("Requests in arbitrary worlds get 403 by a rule that forbids them, and 200 otherwise", async () => {
  const roles = fc.array(fc.subarray([...keys], { minLength: 1, maxLength: 4 }), { minLength: 4, maxLength: 4 });
  const users = fc.array(fc.subarray([0, 1, 2, 3, 4], { minLength: 1, maxLength: 2 }), { minLength: 6, maxLength: 6 });
  await stack.sql`delete from permissions where coalesce(key, '') <> all(${[...keys]})`;
  await stack.sql`update roles set is_default = 0`;
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
        const { status, body } = await stack.call(attempt.endpoint, requestOf(attempt));

        const next = await read();
        expect({ before, attempt, rules, status }).toMatchObject({ status: rules.length > 0 ? 403 : 200 });
        if (status === 403)
          expect(([1, 2, 3] as const).filter((each) => rules.includes(each)).map(forbiddenBy)).toContainEqual(body);
        expect(sorted(next.members)).toEqual(sorted(expected.members));
        expect(sorted(next.grants)).toEqual(sorted(expected.grants));
        before = next;
      }
    }),
    { numRuns: runs },
  );
});
