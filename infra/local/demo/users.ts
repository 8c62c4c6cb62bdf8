import type { Client } from "pg";
import sql from "sql-template-tag";
import { digestOf } from "../../../lib/http/token.ts";
import type { ProviderUser } from "../pages/provider.ts";
import users from "./users.json" with { type: "json" };

/** A demo user with a token. */
export interface DemoUser extends ProviderUser {
  readonly token: string;
  /** Whether the token was not valid before. */
  readonly isRenewed: boolean;
}

const tokenDays = 3_650;

/**
 * Makes the tokens of the demo users valid, also after a forced logout, and links the users to the provider of this
 * machine. Another user who has the name of a demo user gets neither, since everybody knows them: a demo user has the time
 * of registration, too.
 * @param issuer the provider, whose address has the port
 */
export async function renewTokens(client: Client, issuer?: string): Promise<DemoUser[]> {
  const entries = users.flatMap(({ token, ...user }) => (token ? { ...user, token, digest: digestOf(token) } : []));
  const { rows } = await client.query<DemoUser>(sql`
    with demo as (
      select username, token, description, decode(digest, 'hex') as digest, users.id
      from
        json_to_recordset(${JSON.stringify(entries)})
          as entry (token text, digest text, username text, description text, registered timestamptz)
        join users using (username, registered)
    ), renewed as (
      insert into refresh_tokens (digest, user_id, expires_at)
      select digest, id, now() + make_interval(days => ${tokenDays}) from demo
      on conflict (digest) do update
      set expires_at = excluded.expires_at, revoked_at = null
      where refresh_tokens.expires_at <= now() or refresh_tokens.revoked_at is not null
      returning digest
    ), linked as (
      insert into identities (issuer, subject, user_id)
      select issuer, username, id from demo, (select ${issuer}::text as issuer) as provider where issuer is not null
      on conflict do nothing
    )
    select
      username as name,
      username || '@example.com' as email,
      description,
      token,
      digest in (select digest from renewed) as "isRenewed"
    from demo
    order by id
  `);
  return rows;
}
