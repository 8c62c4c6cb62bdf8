import type { Permission } from "../../lib/contract/permissions.ts";
import type { Call } from "./requests.ts";

/** A request that reads, and the parameters of a minimal statement for its answer (`statements/FILE.sql`). */
export interface Read {
  readonly call: Call;
  readonly file: string;
  readonly parameters?: Readonly<Record<string, string | number>>;
  /** Only for administrative requests, whose statements follow `statements/caller.sql`. */
  readonly permission?: Permission;
  /** The part of the answer that is random, and therefore not compared. */
  readonly random?: "all" | RegExp;
}

const list = { client: 1, limit: 50 };
const listQuery = { client: "1", limit: "50" };
const byId = (id: number) => ({ path: { id: String(id) }, parameters: { id } });
/** A random series of a contributor in a list. */
export const randomSeries = /,"random_series":\{[^}]*\}/g;

const of = (
  name: string,
  {
    path,
    query,
    ...rest
  }: Omit<Read, "call" | "file"> & Partial<Pick<Call, "path" | "query">> & { file?: string } = {},
): Read => ({
  call: { name, ...(path && { path }), ...(query && { query }) },
  file: name.replace("/", "-"),
  ...rest,
});

/** One for each endpoint that reads, and a search. */
export const reads: readonly Read[] = [
  of("contributors/list", { query: listQuery, parameters: list, random: randomSeries }),
  of("contributors/list", {
    file: "contributors-search",
    query: { ...listQuery, search: "wilz" },
    parameters: { ...list, search: "wilz" },
    random: randomSeries,
  }),
  of("contributor/slug", { path: { slug: "moebius" }, parameters: { slug: "moebius" } }),
  of("contributor/random", { query: { client: "1" }, parameters: { client: 1 }, random: "all" }),
  of("contributor/works", {
    path: { id: "77" },
    query: { ...listQuery, user_lang: "German" },
    parameters: { ...list, id: 77, language: "German" },
  }),
  of("publishers/list", { query: { limit: "50" }, parameters: { limit: 50 } }),
  of("publisher/slug", { path: { slug: "kodansha" }, parameters: { slug: "kodansha" } }),
  of("publisher/random", { query: { client: "1" }, parameters: { client: 1 }, random: "all" }),
  of("publisher/publications", {
    path: { id: "24" },
    query: { ...listQuery, user_lang: "German" },
    parameters: { ...list, id: 24, language: "German" },
  }),
  of("admin-contributors/list", { query: listQuery, parameters: list, permission: "view-contributors" }),
  of("admin-contributors/id", { ...byId(77), permission: "view-contributors" }),
  of("admin-users/list", { query: { limit: "50" }, parameters: { limit: 50 }, permission: "view-users" }),
  of("admin-users/id", { ...byId(20), permission: "view-users" }),
  of("admin-roles/list", { permission: "view-roles" }),
  of("admin-roles/id", { ...byId(2), permission: "view-roles" }),
  of("admin-permissions/list", { permission: "view-permissions" }),
  of("admin-permissions/id", { ...byId(2), permission: "view-permissions" }),
];
