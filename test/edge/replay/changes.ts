import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Sql } from "../../support/database.ts";
import { dataUrl, plain } from "../../support/pictures.ts";

/** What a change is made to, and another number for each change. The arrays are elements as edits remove or modify them. */
export type Target = Readonly<
  Record<"contributor" | "publisher" | "series" | "otherContributor" | "otherPublisher" | "otherSeries", number> &
    Record<"slug" | "publisherSlug", string> &
    Record<"aliases" | "descriptions" | "relations", readonly unknown[] | null> & { number: number }
>;

export interface Roads {
  /** The database, as another program writes to it. */
  readonly sql: Sql;
  /** A request of the panel. */
  panel(method: "POST" | "DELETE", path: string, body?: object): Promise<{ readonly location: string }>;
}

export interface Change {
  /** Whether the panel makes it; another program does otherwise, without a notification. */
  readonly isPanel: boolean;
  make(target: Target, roads: Roads): Promise<unknown>;
}

/**
 * Changes as a text has them, one a line, by their lines: a statement, or a request of the panel. In braces are the names
 * of what is changed (`changes.txt`).
 */
function readChanges(text: string): Readonly<Record<string, Change>> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const isPanel = /^(?:POST|DELETE) /.test(line);
      const make: Change["make"] = async (target, { sql, panel }) => {
        const text = filled(line, target);
        if (!isPanel) return await sql.query(text);
        const [, method, path = "", body] = /^(POST|DELETE) (\S+) ?(.*)$/.exec(text) ?? [];
        return await panel(method === "DELETE" ? method : "POST", path, body ? JSON.parse(body) : undefined);
      };
      return [line, { isPanel, make }];
    }),
  );
}

const filled = (line: string, target: Target): string =>
  Object.entries(target).reduce(
    (text, [name, value]) => text.replaceAll(`{${name}}`, JSON.stringify(value ?? [])),
    line,
  );

const panel = (make: Change["make"]): Change => ({ isPanel: true, make });

/** Every endpoint and every field that changes what the public reads, and every table that it reads. */
export const changes: Readonly<Record<string, Change>> = {
  ...readChanges(readFileSync(join(import.meta.dirname, "changes.txt"), "utf8")),
  "a contributor is added and published": panel(async ({ number }, { panel }) => {
    const { location } = await panel("POST", "/admin-contributors/add", { first_name: `Added ${number}` });
    await panel("POST", location.replace("/id/", "/edit/"), { public: true });
  }),
  "a contributor is shown": panel(async (_, { sql, panel }) => {
    const [hidden] = await sql<{ id: number }[]>`select id from contributors where not public limit 1`;
    if (hidden) await panel("POST", `/admin-contributors/edit/${hidden.id}`, { public: true });
  }),
  "an avatar is set": panel(async ({ contributor, number }, { panel }) => {
    const picture = plain(`#${(0x100000 + number).toString(16)}`).png();
    const image = dataUrl(await picture.toBuffer());
    await panel("POST", `/admin-contributors/update-avatar/${contributor}`, { image });
  }),
  "an avatar is removed": panel(async (_, { sql, panel }) => {
    const [shown] = await sql<{ id: number }[]>`select id from contributors where image is not null and public limit 1`;
    if (shown) await panel("DELETE", `/admin-contributors/delete-avatar/${shown.id}`);
  }),
};
