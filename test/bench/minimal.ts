import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Statement } from "../../infra/local/plan.ts";
import { digestOf } from "../../lib/token.ts";
import { imageBaseUrl } from "../support/environment.ts";
import type { Read } from "./reads.ts";
import { token } from "./requests.ts";

/** The statement that somebody would write for this answer only. */
export async function minimalStatement(
  read: Pick<Read, "file" | "parameters" | "permission">,
  release: string,
): Promise<Statement> {
  const own = await fileOf(read.file);
  const sql = read.permission ? `${await fileOf("caller")}${own}` : own;
  const values = {
    ...read.parameters,
    images: imageBaseUrl,
    ...(read.permission && { permission: read.permission, digest: digestOf(token) }),
  };
  const used = Object.entries(values).filter(([name]) => new RegExp(`:${name}\\b`).test(sql));
  return {
    // The functions that take a lock are in the schema of the measured release.
    sql: sql.replaceAll("release.", `${release}.`),
    parameters: used.map(([name, value]) => ({
      name,
      value: typeof value === "number" ? { longValue: value } : { stringValue: value },
    })),
  };
}

const fileOf = (name: string) => readFile(join(import.meta.dirname, "statements", `${name}.sql`), "utf8");
