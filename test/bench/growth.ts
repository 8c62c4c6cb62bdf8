import { type Row, sideBySide } from "./measure.ts";
import { type Call, call } from "./requests.ts";
import type { Stage } from "./stage.ts";

const rounds = 60;

/** What requests cost in a catalogue a hundred times as large. */
const requests: readonly (Call & { readonly what: string; readonly bound: number })[] = [
  { what: "contributors, page of 50", name: "contributors/list", query: { client: "1", limit: "50" }, bound: 1.5 },
  {
    what: "contributors, page of 50, name-desc",
    name: "contributors/list",
    query: { client: "1", limit: "50", order: "name-desc" },
    bound: 1.5,
  },
  { what: "contributor by slug", name: "contributor/slug", path: { slug: "made-up-777" }, bound: 1.5 },
  { what: "random contributor", name: "contributor/random", query: { client: "1" }, bound: 1.5 },
  {
    what: "contributors, substring search",
    name: "contributors/list",
    query: { client: "1", limit: "50", search: "rananan" },
    bound: 4,
  },
  {
    what: "works of a contributor",
    name: "contributor/works",
    path: { id: "300" },
    query: { client: "1" },
    bound: 1.5,
  },
  { what: "publisher by slug", name: "publisher/slug", path: { slug: "kodansha" }, bound: 1.5 },
  { what: "random publisher", name: "publisher/random", query: { client: "1" }, bound: 1.5 },
  {
    what: "administrative contributors, page of 50",
    name: "admin-contributors/list",
    query: { client: "1", limit: "50" },
    bound: 1.5,
  },
  { what: "administrative contributor", name: "admin-contributors/id", path: { id: "300" }, bound: 1.5 },
  { what: "users, page of 50", name: "admin-users/list", query: { limit: "50" }, bound: 1.5 },
  {
    what: "users, page of 50, by registration",
    name: "admin-users/list",
    query: { limit: "50", order: "registered-desc" },
    bound: 1.5,
  },
  { what: "user", name: "admin-users/id", path: { id: "20" }, bound: 1.5 },
  { what: "roles", name: "admin-roles/list", bound: 1.5 },
  { what: "role", name: "admin-roles/id", path: { id: "2" }, bound: 1.5 },
  { what: "permissions", name: "admin-permissions/list", bound: 1.5 },
];

/** p50 at 200,000 contributors and 100,000 users over p50 at 2,000 of each. */
export async function growth(stage: Stage): Promise<Row[]> {
  const small = await stage.over("small");
  const large = await stage.over("large");
  const rows: Row[] = [];
  const there = requests.filter(({ name }) => large.names.has(name.replaceAll("/", "-")));
  for (const { what, bound, ...request } of there) {
    const [few = 0, many = 0] = await sideBySide([() => call(small, request), () => call(large, request)], rounds);
    rows.push({ what: `${what} (${few.toFixed(1)} ms to ${many.toFixed(1)} ms)`, value: many / few, unit: "x", bound });
  }
  return rows;
}
