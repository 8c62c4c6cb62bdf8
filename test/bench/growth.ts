import * as z from "zod/mini";
import type { Lambda } from "../../infra/aws-local/lambda/lambda.ts";
import { lateRole } from "../support/made-up-users.ts";
import { median, type Row, sideBySide, timed } from "./measure.ts";
import type { Stage } from "./stage.ts";

const rounds = 60;

/** A function, the query of the request, and the parameter of its path. */
type Call = readonly [name: string, query?: string, path?: Readonly<Record<string, string>>];

/** Calls a function as the demo data's administrator, and checks that it returns 200, because errors would be faster. */
async function call(lambda: Lambda, [name, query = "", path]: Call): Promise<string> {
  const result = await lambda.invoke(name.replaceAll("/", "-"), {
    httpMethod: "GET",
    path: `/${name}`,
    headers: { Cookie: "refreshToken=local-administrator" },
    pathParameters: path ?? null,
    queryStringParameters: Object.fromEntries(new URLSearchParams(query)),
    requestContext: { requestId: "00000000-0000-0000-0000-000000000000" },
  });
  const { data } = z.safeParse(ok, result);
  if (!data) throw new Error(`${name}: ${JSON.stringify(result)}`);
  return data.result.body;
}

const ok = z.object({ result: z.object({ statusCode: z.literal(200), body: z.string() }) });

const contributors = (query = ""): Call => ["contributors/list", `client=1&limit=50&${query}`];

/** Requests whose time must not grow with the catalogue. */
const steady: Readonly<Record<string, Call>> = {
  "contributors, page of 50": contributors(),
  "contributors, page of 50, name-desc": contributors("order=name-desc"),
  "contributor by slug": ["contributor/slug", "", { slug: "made-up-777" }],
  "random contributor": ["contributor/random", "client=1"],
  "works of a contributor": ["contributor/works", "client=1", { id: "300" }],
  "publisher by slug": ["publisher/slug", "", { slug: "kodansha" }],
  "random publisher": ["publisher/random", "client=1"],
  "administrative contributors, page of 50": ["admin-contributors/list", "client=1&limit=50"],
  "administrative contributor": ["admin-contributors/id", "", { id: "300" }],
  "users, page of 50": ["admin-users/list", "limit=50"],
  "users, page of 50, by registration": ["admin-users/list", "limit=50&order=registered-desc"],
  user: ["admin-users/id", "", { id: "20" }],
  roles: ["admin-roles/list"],
  role: ["admin-roles/id", "", { id: "2" }],
  permissions: ["admin-permissions/list"],
};

/** Searches find more in a larger catalogue, so their time may grow. */
const searches = ["takahashi", "urasaw", "pratchett rumiko"];
const searched = (search: string): Call => contributors(`${new URLSearchParams({ search })}`);

/** Compares p50 at a million records with p50 at ten thousand, and measures the slowest requests at a million. */
export async function growth(stage: Stage): Promise<Row[]> {
  const { lambda: small } = await stage.catalogue(10_000);
  const { lambda: large, contributors: added, seconds } = await stage.catalogue(1_000_000);
  const rows: Row[] = [];
  const compare = async (what: string, request: Call, bound: number) => {
    const works = [small, large].map((lambda) => () => timed(() => call(lambda, request)));
    const [few = 0, many = 0] = await sideBySide(works, rounds);
    rows.push({ what: `${what} (${few.toFixed(1)} ms to ${many.toFixed(1)} ms)`, value: many / few, unit: "x", bound });
    return many;
  };
  for (const [what, request] of Object.entries(steady)) await compare(what, request, 1.5);
  for (const search of searches) {
    const value = await compare(`contributors with ${search}`, searched(search), 4);
    rows.push({ what: `contributors with ${search}, at a million`, value, unit: "ms", bound: 25 });
  }
  const what = `a thousand contributors loaded (${added} in ${seconds.toFixed(0)} s)`;
  return [...rows, ...(await slowest(large)), { what, value: 1e6 * (seconds / added), unit: "ms", bound: 200 }];
}

/** Requests for which no index is enough, at a million records. */
async function slowest(large: Lambda): Promise<Row[]> {
  const repeated = async (request: Call) => median(await timesOf(large, Array(7).fill(request)));
  const role = await idOf(large, lateRole);
  const late = async (how: string, query: string): Promise<Row> => ({
    what: `users of a role whose users come last by name${how}`,
    value: await repeated(["admin-users/list", `limit=50&role=${role}&${query}`]),
    unit: "ms",
    bound: 25,
  });
  const deep = await repeated(contributors("offset=500000"));
  return [
    { what: "contributors, page at 500,000", value: deep, unit: "ms", bound: 150 },
    await late("", ""),
    await late(", by registration", "order=registered-asc"),
    await late(", with one letter", "search=r"),
    ...(await searchesFor(large, "of one letter", letters, { p50: 60, p99: 200 })),
    ...(await searchesFor(large, "of two letters", pairs, { p50: 60, p99: 200 })),
    ...(await searchesFor(large, "without a letter", signs, { p50: 200, p99: 300 })),
  ];
}

/** A request that fails, for example by a timeout, counts as infinitely long. */
async function timesOf(lambda: Lambda, requests: readonly Call[]): Promise<number[]> {
  const times: number[] = [];
  for (const request of requests) {
    const time = timed(() => call(lambda, request));
    times.push(await time.catch(() => Number.POSITIVE_INFINITY));
  }
  return times;
}

const letters = [..."abcdefghijklmnopqrstuvwxyz"];
const pairs = letters.flatMap((one) => ["a", "e", "o", "r"].map((other) => `${one}${other}`));

/** Found in no name, so that all names are read twice: for the page, and for the number. */
const signs = [..."-.%!?#"].flatMap((one) => [one.repeat(3), `${one} ${one}`, `z${"\u0301".repeat(200)}${one}`]);

/** Each text is searched only once, because visitors seldom repeat a search. */
async function searchesFor(
  large: Lambda,
  what: string,
  texts: readonly string[],
  bounds: { p50: number; p99: number },
): Promise<Row[]> {
  const times = await timesOf(large, texts.map(searched));
  const p99 = times.toSorted((one, other) => one - other)[Math.floor(times.length * 0.99)] ?? Number.NaN;
  return [
    { what: `contributors, search ${what}: p50`, value: median(times), unit: "ms", bound: bounds.p50 },
    { what: `contributors, search ${what}: p99`, value: p99, unit: "ms", bound: bounds.p99 },
  ];
}

async function idOf(lambda: Lambda, role: string): Promise<string> {
  const roles = JSON.parse(await call(lambda, ["admin-roles/list"]));
  return String(roles.find(({ name }: { name: string }) => name === role).id);
}
