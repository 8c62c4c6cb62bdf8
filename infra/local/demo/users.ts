import type { Client } from "pg";
import sql from "sql-template-tag";
import { digestOf } from "../../../lib/http/token.ts";
import { withConnection } from "../../aws-local/postgres/connection.ts";
import type { ProviderUser } from "../pages/provider.ts";
import users from "./users.json" with { type: "json" };

/** The demo users' tokens, and the permissions of each. */
export const demoTokens: Readonly<Record<string, string>> = {
  "local-administrator": "every permission",
  "local-editor": "views, adds and edits contributors",
  "local-reader": "no permission",
};

const tokenDays = 3_650;

export interface DemoTokens {
  readonly valid: readonly string[];
  /** Those of them that were not valid before. */
  readonly renewed: readonly string[];
}

/**
 * Makes the tokens of the demo users valid, also after a forced logout. Another user who has the name of a demo user gets
 * none, since everybody knows them: a demo user has the time of registration, too.
 */
export async function renewTokens(client: Client): Promise<DemoTokens> {
  const { rows } = await client.query<{ token: string; isRenewed: boolean }>(sql`
    with demo as (
      select token, decode(digest, 'hex') as digest, users.id
      from
        json_to_recordset(${JSON.stringify(users.map((user) => ({ ...user, digest: digestOf(user.token ?? "") })))})
          as entry (token text, digest text, username text, registered timestamptz)
        join users using (username, registered)
      where token is not null
    ), renewed as (
      insert into refresh_tokens (digest, user_id, expires_at)
      select digest, id, now() + make_interval(days => ${tokenDays}) from demo
      on conflict (digest) do update
      set expires_at = excluded.expires_at, revoked_at = null
      where refresh_tokens.expires_at <= now() or refresh_tokens.revoked_at is not null
      returning digest
    )
    select token, digest in (select digest from renewed) as "isRenewed" from demo
  `);
  const renewed = rows.filter(({ isRenewed }) => isRenewed);
  return { valid: rows.map(({ token }) => token), renewed: renewed.map(({ token }) => token) };
}

/** The users with tokens, for the provider of this machine. */
const demoUsers: readonly ProviderUser[] = Object.entries(demoTokens).map(([token, description]) => {
  const name = token.replace("local-", "");
  return { name, email: `${name}@example.com`, description };
});

/**
 * Links the demo users to the provider of this machine, whose address has the port.
 * @returns those who can sign in; empty without the demo data
 */
export const linkDemoUsers = (databaseUrl: string, issuer: string): Promise<readonly ProviderUser[]> =>
  withConnection(databaseUrl, async (client) => {
    await client.query(sql`
      insert into identities (issuer, subject, user_id)
      select ${issuer}, username, id from users where username = any(${demoUsers.map(({ name }) => name)})
      on conflict do nothing
    `);
    const { rows } = await client.query<{ subject: string }>(sql`
      select subject from identities where issuer = ${issuer}
    `);
    return demoUsers.filter(({ name }) => rows.some(({ subject }) => subject === name));
  });
