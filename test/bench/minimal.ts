import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Statement } from "../../infra/local/plan.ts";
import { digestOf } from "../../lib/token.ts";
import { imageBaseUrl } from "../support/environment.ts";
import type { Read } from "./reads.ts";
import { token } from "./requests.ts";

/** What somebody would send who needs nothing but this answer. */
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
    // Functions that take a lock are those of the release under measurement.
    sql: sql.replaceAll("release.", `${release}.`),
    parameters: used.map(([name, value]) => ({
      name,
      value: typeof value === "number" ? { longValue: value } : { stringValue: value },
    })),
  };
}

const fileOf = (name: string) => readFile(join(import.meta.dirname, "statements", `${name}.sql`), "utf8");
