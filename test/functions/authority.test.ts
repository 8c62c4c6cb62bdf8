import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
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

describe("A permission that this service does not check", () => {
  let caller: Person;
  let foreign: Named;
  let role: Named;
  const grant = () => editRole(caller, role, { added_permissions: [foreign.id] });

  beforeEach(async () => {
    const able = ["edit-roles", "delete-roles", "edit-users", "view-roles"] as const;
    caller = await holderOf(stack.sql, ...able);
    foreign = await aPermission(stack.sql);
    role = await aRole(stack.sql, "view-roles");
    const superior = await holderOf(stack.sql, ...able, "view-users");
    await give(stack.sql, superior, role);
  });

  it("is added to a role by all who may edit roles", async () => {
    expect((await grant()).status).toBe(200);
  });

  it("is granted with a role by all who may edit users", async () => {
    await grant();
    const user = await userOf(await aRole(stack.sql, "view-users"));

    expect((await editUser(caller, user, { added_roles: [role.id] })).status).toBe(200);
  });

  it("is taken from a role, and so from users who have more permissions than the caller", async () => {
    await grant();
    // The role lacks the second permission, so it cannot lose it.
    const removed_permissions = [foreign.id, await permissionId(stack.sql, "view-users")];

    expect((await editRole(caller, role, { removed_permissions })).status).toBe(200);
  });

  it("goes with a deleted role", async () => {
    await grant();

    expect((await remove(caller, "roles", role.id)).status).toBe(200);
  });
});

describe.each([
  {
    how: "editing",
    permission: "edit-roles" as const,
    weaken: async (by: Person, role: Named) =>
      editRole(by, role, { removed_permissions: [await permissionId(stack.sql, "view-users")] }),
  },
  {
    how: "deleting",
    permission: "delete-roles" as const,
    weaken: (by: Person, role: Named) => remove(by, "roles", role.id),
  },
])("A user who has all permissions of the caller, and more,", ({ how, permission, weaken }) => {
  it(`is not weakened by ${how} a role, to be deleted afterwards`, async () => {
    const moderator = await holderOf(stack.sql, permission, "delete-users");
    const role = await aRole(stack.sql, permission, "delete-users", "view-users");
    const superior = await userOf(role);

    await expectForbidden(
      2,
      () => weaken(moderator, role),
      () => remove(moderator, "users", superior.id),
    );
  });
});

describe("Where the default role has a permission that the caller lacks", () => {
  let defaultRole: number;
  let caller: Person;
  let able: Person;
  let one: Named;
  let other: Named;

  beforeEach(async () => {
    defaultRole = Number(await defaultRoleId(stack.sql));
    const granted = await permissionId(stack.sql, "view-contributors");
    await stack.sql`insert into role_permissions (role_id, permission_id) values (${defaultRole}, ${granted})`;
    caller = await holderOf(stack.sql, "edit-users", "delete-roles");
    able = await holderOf(stack.sql, "edit-users", "delete-roles", "view-contributors");
    [one, other] = [await aRole(stack.sql), await aRole(stack.sql)];
  });

  afterEach(async () => {
    await stack.sql`delete from role_permissions where role_id = ${defaultRole}`;
  });

  it.each([
    {
      what: "removing all roles of a user",
      userWith: () => [one, other],
      act: (user: Person) => editUser(caller, user, { removed_roles: [one.id, other.id] }),
    },
    {
      what: "adding and removing all roles of a user",
      userWith: () => [one, other],
      act: (user: Person) => {
        const roles = [one.id, other.id];
        return editUser(caller, user, { added_roles: roles, removed_roles: roles });
      },
    },
    {
      what: "removing the only role of a user",
      userWith: () => [one],
      act: (user: Person) => editUser(caller, user, { removed_roles: [one.id] }),
    },
    {
      what: "deleting the only role of a user",
      userWith: () => [one],
      act: () => remove(caller, "roles", one.id),
    },
    {
      what: "deleting the caller's own only role",
      userWith: () => [one],
      act: async () => {
        const [own = 0] = await roleIdsOf(stack.sql, caller);
        return await remove(caller, "roles", own);
      },
    },
  ])("$what is forbidden, since the user would get the default role", async ({ userWith, act }) => {
    const user = await userOf(...userWith());

    await expectForbidden(1, () => act(user));
  });

  it("deleting one of two roles of a user is allowed", async () => {
    await userOf(one, other);

    expect((await remove(caller, "roles", other.id)).status).toBe(200);
  });

  it("removing the only role of a user is allowed to a caller who has that permission", async () => {
    expect((await editUser(able, await userOf(one), { removed_roles: [one.id] })).status).toBe(200);
  });

  it("removing the default role of a user without another one is allowed, since the user gets it back", async () => {
    const user = await userOf({ id: defaultRole, name: "" });

    expect((await editUser(caller, user, { removed_roles: [defaultRole] })).status).toBe(200);

    expect(await roleIdsOf(stack.sql, user)).toEqual([defaultRole]);
  });
});

describe("Only its holders act on the Administrator role", () => {
  it("which keeps the fifteen permissions", async () => {
    const administrator = await anAdministrator(stack.sql);
    const [role, foreign] = [await administratorRole(), await aPermission(stack.sql)];
    const own = await permissionId(stack.sql, "delete-users");

    await expectForbidden(3, () => editRole(administrator, role, { removed_permissions: [foreign.id, own] }));
  });

  it("which may be renamed", async () => {
    const administrator = await anAdministrator(stack.sql);

    expect((await editRole(administrator, await administratorRole(), { name: "Chief" })).status).toBe(200);
  });

  it("which may get and lose a permission that this service does not check", async () => {
    const administrator = await anAdministrator(stack.sql);
    const [role, { id }] = [await administratorRole(), await aPermission(stack.sql)];

    expect((await editRole(administrator, role, { added_permissions: [id] })).status).toBe(200);
    expect((await editRole(administrator, role, { removed_permissions: [id] })).status).toBe(200);
  });

  describe("also when somebody else has all permissions, since one has been deleted:", () => {
    let administrator: Person;
    let other: Person;
    let climber: Person;
    let role: Named;
    const deletable = () => permissionId(stack.sql, "add-contributors");

    beforeEach(async () => {
      [administrator, other] = [await anAdministrator(stack.sql), await anAdministrator(stack.sql)];
      climber = await everythingElse();
      role = await administratorRole();
      await stack.sql`delete from permissions where key = 'delete-contributors'`;
    });

    it.each([
      { what: "edit the role", act: () => editRole(climber, role) },
      {
        what: "add a permission to it",
        act: async () => editRole(climber, role, { added_permissions: [await deletable()] }),
      },
      {
        what: "remove a permission from it",
        act: async () => editRole(climber, role, { removed_permissions: [await deletable()] }),
      },
      { what: "delete it", act: () => remove(climber, "roles", role.id) },
      { what: "take it from a user", act: () => editUser(climber, other, { removed_roles: [role.id] }) },
      { what: "delete a user who has it", act: () => remove(climber, "users", other.id) },
      { what: "delete a permission of it", act: async () => remove(climber, "permissions", await deletable()) },
    ])("the other one may not $what", async ({ act }) => {
      await expectForbidden(3, act);
    });

    it("a holder may edit the role", async () => {
      expect((await editRole(administrator, role)).status).toBe(200);
    });

    it("a holder may take it from another one", async () => {
      expect((await editUser(administrator, other, { removed_roles: [role.id] })).status).toBe(200);
    });
  });

  describe("of which deleting one of the fifteen permissions takes it:", () => {
    const id = () => permissionId(stack.sql, "view-permissions");

    it("somebody else with all permissions may not delete one", async () => {
      const other = await everythingElse();
      const one = await id();

      await expectForbidden(3, () => remove(other, "permissions", one));
    });

    it("somebody else with all permissions may rename one", async () => {
      const other = await everythingElse();
      const body = { name: "See permissions", description: "Renamed" };

      const renamed = await stack.call("admin-permissions/edit", { as: other.token, path: { id: await id() }, body });

      expect(renamed.status).toBe(200);
    });

    it("a holder may delete one", async () => {
      const { body } = await remove(await anAdministrator(stack.sql), "permissions", await id());

      expect(body).toEqual(envelope(200, "Permission deleted"));
    });
  });

  describe("which nobody deletes, even if it has no users:", () => {
    let role: Named;

    beforeEach(async () => {
      role = await administratorRole();
      await stack.sql`delete from user_roles where role_id = ${role.id}`;
    });

    it("not somebody else with all permissions, who may not edit it either", async () => {
      const other = await everythingElse();

      await expectForbidden(
        3,
        () => remove(other, "roles", role.id),
        () => editRole(other, role),
      );
    });

    it("not a holder", async () => {
      const administrator = await anAdministrator(stack.sql);

      await expectForbidden(3, () => remove(administrator, "roles", role.id));
    });
  });

  it("and only they grant it", async () => {
    const [other, role] = [await everythingElse(), await administratorRole()];

    await expectForbidden(3, () => editUser(other, other, { added_roles: [role.id] }));
  });

  describe("and, when it is the default role, only they take somebody's last role:", () => {
    let role: Named;
    let single: Named;
    let user: Person;

    beforeEach(async () => {
      role = await administratorRole();
      single = await aRole(stack.sql);
      user = await userOf(single);
      await stack.sql`update roles set is_default = 0`;
      await stack.sql`update roles set is_default = 1 where id = ${role.id}`;
    });

    it.each([
      {
        what: "edit the user",
        act: (by: Person) => editUser(by, user, { removed_roles: [single.id] }),
      },
      { what: "delete the role", act: (by: Person) => remove(by, "roles", single.id) },
    ])("somebody else with all permissions may not $what", async ({ act }) => {
      const other = await everythingElse();

      await expectForbidden(3, () => act(other));
    });

    it("a holder may", async () => {
      const administrator = await anAdministrator(stack.sql);

      expect((await editUser(administrator, user, { removed_roles: [single.id] })).status).toBe(200);

      expect(await roleIdsOf(stack.sql, user)).toEqual([role.id]);
    });
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

it("Requests in arbitrary worlds are forbidden by the rules against them, and by nothing else", async () => {
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
