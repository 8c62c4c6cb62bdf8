import postgres from "postgres";
import { digestOf } from "../../../lib/token.ts";

/** The demo users' tokens, and the permissions of each. */
export const demoTokens: Readonly<Record<string, string>> = {
  "local-administrator": "every permission",
  "local-editor": "views, adds and edits contributors",
  "local-reader": "no permission",
};

/** The demo tokens that are valid in this database: it may have no demo users, or they may have been logged out. */
export async function validTokens(databaseUrl: string): Promise<readonly string[]> {
  const sql = postgres(databaseUrl, { max: 1 });
  try {
    const tokens = Object.keys(demoTokens);
    const valid = await sql<{ digest: string }[]>`
      select encode(digest, 'hex') as digest
      from refresh_tokens
      where
        encode(digest, 'hex') = any(${tokens.map(digestOf)})
        and expires_at > now()
        and revoked_at is null
    `;
    return tokens.filter((token) => valid.some(({ digest }) => digest === digestOf(token)));
  } finally {
    await sql.end();
  }
}
