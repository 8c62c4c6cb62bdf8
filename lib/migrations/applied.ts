import { createHash } from "node:crypto";
import sql from "sql-template-tag";
import { text } from "../data-api/read.ts";
import type { Send } from "../data-api/transaction.ts";
import type { Migration } from "./tables/all.ts";

/** @throws when the migration has been changed since it was applied */
export async function isApplied(migration: Migration, send: Send): Promise<boolean> {
  const [row] = await send(sql`select checksum from migrations where name = ${migration.name}::text`);
  if (row && text(row, 0) !== checksumOf(migration)) throw new Error("the file was changed after it had been applied");
  return row !== undefined;
}

export async function recordApplied(migration: Migration, send: Send): Promise<void> {
  const { name } = migration;
  await send(sql`insert into migrations (name, checksum) values (${name}::text, ${checksumOf(migration)}::text)`);
}

const checksumOf = ({ text }: Migration) => createHash("sha256").update(text).digest("hex");
