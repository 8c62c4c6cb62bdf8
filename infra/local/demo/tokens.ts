import sql from "sql-template-tag";
import { digestOf } from "../../../lib/token.ts";
import { withConnection } from "../../aws-local/postgres/connection.ts";

/** The demo users' tokens, and the permissions of each. */
export const demoTokens: Readonly<Record<string, string>> = {
  "local-administrator": "every permission",
  "local-editor": "views, adds and edits contributors",
  "local-reader": "no permission",
};

/** The demo tokens that are valid in this database: it may have no demo users, or they may have been logged out. */
export const validTokens = (databaseUrl: string): Promise<readonly string[]> =>
  withConnection(databaseUrl, async (client) => {
    const tokens = Object.keys(demoTokens);
    const { rows } = await client.query<{ digest: string }>(sql`
      select encode(digest, 'hex') as digest
      from refresh_tokens
      where
        encode(digest, 'hex') = any(${tokens.map(digestOf)})
        and expires_at > now()
        and revoked_at is null
    `);
    return tokens.filter((token) => rows.some(({ digest }) => digest === digestOf(token)));
  });
