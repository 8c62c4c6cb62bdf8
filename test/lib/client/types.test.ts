import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Editor, openEditor } from "../../support/language-server.ts";

const contributors = 'colophon.GET("/contributors", { query: { client: 1 } })';
const withSlugs = '"/contributors", { query: { client: 1, include: "slug" } }';
const detail = (query: string) =>
  `(await colophon.GET("/admin-contributors/id/{id}", { path: { id: 7 }, query: ${query} })).data`;

/** Expressions, and what the compiler says of each: nothing, or at least these words. */
const cases: readonly (readonly [expression: string, problem?: string])[] = [
  // what a call takes
  ['colophon.GET("/admin-user")', "keyof Reads"],
  [
    'colophon.GET("/contributors", { query: {} })',
    "Property 'client' is missing in type '{}' but required in type 'Li",
  ],
  ['colophon.GET("/contributors")', "Expected 2 arguments"],
  ['colophon.POST("/sign-out")'],
  ['colophon.GET("/admin-users", { query: { order: "name" } })', '"name-asc"'],
  ['colophon.GET("/admin-users", { query: { client: 1 } })', "'client' does not exist in type 'ListUsersQuery'"],
  ['colophon.GET("/admin-users/id/{id}", { path: { id: "7" } })', "'string' is not assignable to type 'number'"],
  ['colophon.POST("/admin-roles/edit/{id}", { path: { id: 7 } })', "Property 'body' is missing"],
  [
    'colophon.POST("/admin-contributors/edit/{id}", { path: { id: 7 }, patch: { first: "A" } })',
    "'first' does not exist",
  ],
  ['colophon.POST("/admin-users/edit/{id}", { path: { id: 7 }, patch: { added_roles: [7] }, cache: "no-store" })'],
  // what it gives
  ['((await colophon.GET("/admin-roles/id/{id}", { path: { id: 7 } })).version ?? "").length'],
  ['(await colophon.POST("/admin-roles/add", { body: { name: "A", description: "B" } })).created?.toFixed()'],
  ['await (await colophon.GET("/admin-users/id/{id}", { path: { id: 7 } })).close?.()'],
  ['(await colophon.GET("/admin-roles/id/{id}", { path: { id: 7 } })).close', "Property 'close' does not exist"],
  ['(await colophon.session())?.can("edit-roles").valueOf()'],
  ['(await colophon.session())?.can("edit-role")', `'"edit-role"' is not assignable`],
  // what `include` adds
  [`(await ${contributors}).data?.contributors[0]?.slug.length`, "possibly 'undefined'"],
  [`(await colophon.GET(${withSlugs})).data?.contributors[0]?.slug.length`],
  [`(await colophon.all(${withSlugs}))[0]?.slug.length`],
  [`(await colophon.pages(${withSlugs}).next()).value?.contributors[0]?.slug.length`],
  [`(await colophon.queryOptions(${withSlugs}).queryFn()).contributors[0]?.slug.length`],
  [`colophon.GET(${withSlugs.replace("slug", "slog")})`, `Type '"slog"' is not assignable to type 'Selection<`],
  [`${detail('{ include: "public,client" }')}?.public.valueOf()`],
  [`${detail('{ include: "public,client" }')}?.client?.toFixed()`],
  [`${detail('{ include: "public,client" }')}?.type.length`, "possibly 'undefined'"],
  [`${detail('{ include: "public,public" }')}`, "is not assignable"],
  [`${detail("{ include: either }")}?.public.valueOf()`, "possibly 'undefined'"],
];

/** Where an editor completes, and what it offers there; and what it offers elsewhere alone. */
const completions = [
  {
    begun: 'colophon.DELETE("',
    offered: ["/admin-users/lock/{id}", "/admin-roles/delete/{id}"],
    others: ["/admin-users/edit/{id}"],
  },
  {
    begun: 'colophon.all("',
    offered: ["/contributors", "/publisher/publications/{id}"],
    others: ["/admin-roles", "/session"],
  },
  {
    begun: 'colophon.GET("/contributors", { query: { ',
    offered: ["client", "order?", "include?", "lang?"],
    others: ["role?", "user_lang?", "lock?"],
  },
  {
    begun: 'colophon.GET("/contributors", { query: { client: 1, include: "',
    offered: ["slug"],
    others: ["type", "public"],
  },
  {
    begun: 'colophon.all("/admin-contributors", { query: { client: 1, include: "',
    offered: ["type,client", "client,public"],
    others: ["slug"],
  },
  {
    begun: 'colophon.POST("/admin-roles/add", { body: { ',
    offered: ["name", "description"],
    others: ["first_name", "username"],
  },
] as const;

const showContributor = 'colophon.GET("/admin-contributors/id/{id}", { path: { id: 7 } })';
const addRole = '(await colophon.POST("/admin-roles/add", { body: { name: "", description: "" } }))';

/** Expressions, words in them, and what an editor shows of these. */
const hovers = [
  {
    expression: showContributor,
    word: "GET",
    shown:
      'Call<"Shows a contributor; opens an edit lock for callers who may edit. Needs `view-contributors`.", AdminContributor',
  },
  { expression: showContributor, word: "GET", shown: 'Failure<404, "Contributor not found">' },
  { expression: 'colophon.GET("/session")', word: "GET", shown: "Needs a session." },
  {
    expression: `colophon.GET(${withSlugs})`,
    word: "include",
    shown: 'ListContributorsQuery.include?: Selection<"added" | "changed" | "disambiguation" | "slug" | "sort_name">',
  },
  { expression: `colophon.GET(${withSlugs})`, word: "include", shown: "Further fields to show" },
  {
    expression: 'colophon.POST("/admin-contributors/edit/{id}", { path: { id: 7 }, patch: { public: true } })',
    word: "public:",
    shown: "public?: boolean | null",
  },
  {
    expression:
      'colophon.POST("/admin-contributors/edit/{id}", { path: { id: 7 }, body: { first_name: "A", public: true } })',
    word: "public:",
    shown: "Whether public endpoints show the contributor. By default `false`.",
  },
  { expression: `(await ${contributors}).data?.contributors[0]?.gender`, word: "gender", shown: "Null if not known." },
  { expression: `${addRole}.error?.field`, word: "field", shown: '"Idempotency-Key"' },
  { expression: `${addRole}.error?.fields?.[0]?.reason`, word: "reason", shown: "Reason" },
  { expression: `${addRole}.error?.data`, word: "data", shown: '"Role with the same name already exists"' },
] as const;

/** What is begun, completed to an expression. */
const closed = (begun: string) =>
  `${begun}${begun.endsWith('"') ? '"' : ""}${" }".repeat(begun.split("{ ").length - 1)})`;

const program = [
  'import { createClient } from "colophon-client";',
  'const colophon = createClient("http://localhost:3000");',
  'declare const either: "type" | "public";',
  ...cases.map(([expression]) => `void (${expression});`),
  ...hovers.map(({ expression }) => `void (${expression});`),
  ...completions.map(({ begun }) => `void ${closed(begun)};`),
  "export {};",
].join("\n");

let editor: Editor;

beforeAll(async () => {
  editor = await openEditor("test/lib/client/program.ts", program);
});

afterAll(() => editor.close());

describe("The client's types", () => {
  it("let the compiler explain what is wrong, and accept what is right", async () => {
    const problems = await editor.problems();

    for (const [index, [expression, problem]] of cases.entries()) {
      const messages = problems.filter(({ range }) => range.start.line === index + 3).map(({ message }) => message);
      expect([expression, messages.join()]).toEqual([expression, problem ? expect.stringContaining(problem) : ""]);
    }
  });

  it.each(completions)(
    "offer behind $begun what fits, and nothing of other endpoints",
    async ({ begun, offered, others }) => {
      const labels = await editor.completions(begun, `void ${closed(begun)};`);

      expect(labels).toEqual(expect.arrayContaining([...offered]));
      expect(others.filter((each) => labels.includes(each))).toEqual([]);
    },
  );

  it.each(hovers)("show of $expression at $word: $shown", async ({ expression, word, shown }) => {
    const text = await editor.hover(word, `void (${expression});`);

    expect(text).toContain(shown);
    expect(text.split("\n").length).toBeLessThanOrEqual(16);
  });
});
