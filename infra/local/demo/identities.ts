import sql from "sql-template-tag";
import { withConnection } from "../../aws-local/postgres/connection.ts";
import type { ProviderUser } from "../pages/provider.ts";
import { demoTokens } from "./tokens.ts";

/** The demo users by their names, with what each may do. */
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
