import { createHash, randomUUID } from "node:crypto";
import type { Permission } from "../../lib/contract/permissions.ts";
import type { Sql } from "./database.ts";
import { aRole, give } from "./records.ts";

export interface Person {
  readonly id: number;
  readonly username: string;
  /** Their refresh token. */
  readonly token: string;
}

/** A logged-in user who holds exactly these permissions, through a role of their own. */
export async function holderOf(sql: Sql, ...permissions: readonly Permission[]): Promise<Person> {
  const person = await aUser(sql);
  await give(sql, person, await aRole(sql, ...permissions));
  return person;
}

/** A logged-in user who holds every permission. */
export async function anAdministrator(sql: Sql): Promise<Person> {
  const person = await aUser(sql);
  await sql`insert into user_roles (user_id, role_id) select ${person.id}, id from roles where key = 'administrator'`;
  return person;
}

/** A logged-in user without any role. */
export async function aUser(sql: Sql, username = `user ${randomUUID()}`): Promise<Person> {
  const [user] = await sql<{ id: number }[]>`
    insert into users (username, slug) values (${username}, ${username.toLowerCase().replaceAll(" ", "-")}) returning id
  `;
  const id = user?.id ?? 0;
  return { id, username, token: await aSession(sql, id) };
}

/** A refresh token for a user, which expires in so many seconds. */
export async function aSession(sql: Sql, userId: number, seconds = 3_600): Promise<string> {
  const token = randomUUID();
  await sql`
    insert into refresh_tokens (digest, user_id, expires_at)
    values (${createHash("sha256").update(token).digest()}, ${userId}, now() + make_interval(secs => ${seconds}))
  `;
  return token;
}
