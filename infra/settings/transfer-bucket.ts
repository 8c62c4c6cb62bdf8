import type { AccountSettings, DatabaseSettings } from "./schema.ts";

/**
 * The name of a database's bucket for imports and exports, which commands know without asking AWS. With the longest
 * names of a database and a region it has the 63 characters that S3 allows.
 */
export const transferBucketOf = (
  { name }: Pick<DatabaseSettings, "name">,
  { id, region }: Pick<AccountSettings, "id" | "region">,
): string => `colophon-${name}-transfers-${id}-${region}`;
