import { randomUUID } from "node:crypto";
import type { Declaration } from "../../lib/contract/declare.ts";
import { aContributor } from "./catalogue.ts";
import { identifier, type Sql } from "./database.ts";
import { aUser } from "./people.ts";
import { tinyImage } from "./pictures.ts";
import { aPermission, aRole } from "./records.ts";
import type { Request } from "./stack.ts";

/** Makes a record, by the table of those that administrators edit. */
export const makers = { users: aUser, roles: aRole, permissions: aPermission, contributors: aContributor } as const;
export type Table = keyof typeof makers;

/** The table of the records that an administrative endpoint reads or changes. */
export const tableOf = ({ path }: Pick<Declaration, "path">) => /^\/admin-(\w+)/.exec(path)?.[1] as Table;

/** A body that is valid everywhere. */
export const bodyOf = (name = `Fit ${randomUUID()}`) =>
  ({ username: name, first_name: name, name, description: "d", image: tinyImage }) as const;

/** A request that does something when its caller may, to a record that nothing else uses. */
export async function requestFor(sql: Sql, declaration: Declaration): Promise<Request> {
  const { method, path, parameters, query, body, needsFileService } = declaration;
  const table = tableOf({ path });
  const { id } = parameters && table ? await makers[table](sql) : { id: 1 };
  if (needsFileService && method === "DELETE")
    await sql`update ${identifier(table)} set image = ${`${randomUUID()}.webp`} where id = ${id}`;
  return {
    ...(parameters ? { path: { slug: "some", id } } : {}),
    ...(query ? { query: { client: 1 } } : {}),
    ...(body ? { body: bodyOf() } : {}),
  };
}
