import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { writeCredentials } from "../../../infra/local/credentials.ts";
import { resultInWords } from "../../../infra/operate/results-in-words.ts";
import { useAdministrator } from "../../support/callers.ts";
import { aContributor } from "../../support/catalogue.ts";
import { key } from "../../support/environment.ts";
import { runScript } from "../../support/script.ts";
import { useStack } from "../../support/stack.ts";
import { changeBy, latestChange, undo } from "../../support/undo.ts";

const stack = useStack();
const administrator = useAdministrator(stack);
let data: string;

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), "colophon-results-"));
  await writeCredentials(data, key);
  await stack.sql`update users set username = 'ada' where id = ${administrator.id}`;
});

afterAll(() => rm(data, { recursive: true }));

/** What `npm run invoke` prints of a result, line by line. */
const words = (name: string, result: unknown, payload: object = {}): string[] =>
  stripVTControlCharacters(resultInWords(`ops/${name}`, result, payload) ?? "").split("\n");

/** What `npm run invoke -- NAME PAYLOAD` prints and ends with. */
const run = (name: string, payload: object | string, ...flags: string[]) => {
  const sent = typeof payload === "string" ? payload : JSON.stringify(payload);
  return runScript("infra/operate/invoke.ts", [name, sent, "--url", stack.url, "--data", data, ...flags]);
};

const like = (pattern: string) => expect.stringMatching(new RegExp(pattern));
const time = String.raw`\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}Z`;

describe("npm run invoke -- ops/list-changes", () => {
  const change = { id: 1_234, at: "2026-11-23T07:30:12Z", by: "administrator", role: "colophon", userId: 1 };
  const record = { record: "contributor 1234567", name: "Osamu", endpoint: "admin-contributors/delete-avatar" };
  const more = { what: ["image none"], undoes: null, undoneBy: null, requestId: null, reason: null };
  const told = (next: number | null, ...changes: object[]) => words("list-changes", { changes, next });

  it("prints each change, with undos and the reasons of operators, and how to go on", () => {
    const undo = { undoes: [1_234, 7], undoneBy: 2_000, reason: "Twice there" };
    const byOperator = { ...change, ...record, ...more, ...undo, by: null, userId: null, endpoint: "ops/undo" };
    const byProgram = { ...byOperator, ...more, endpoint: null, name: null };
    const begin = "1234  2026-11-23 07:30:12Z";

    expect(told(1_234, { ...change, ...record, ...more }, byOperator, byProgram)).toEqual([
      `${begin}  administrator  admin-contributors/delete-avatar  contributor 1234567  Osamu`,
      "    image none",
      `${begin}  an operator  ops/undo  contributor 1234567  Osamu`,
      "    undoes 1234, 7",
      "    image none",
      "    reason: Twice there",
      "    undone by 2000",
      `${begin}  role colophon  contributor 1234567`,
      "    image none",
      "",
      'There are more: add "before": 1234 to the payload.',
    ]);
    expect(told(null)).toEqual(["No changes"]);
  });
});

describe("npm run invoke -- ops/undo", () => {
  let id: number;
  let alias: number;
  /** Of two edits, of which the later one changes what the earlier one did. */
  let [earlier, later] = [0, 0];

  beforeEach(async () => {
    ({ id } = await aContributor(stack.sql, { first_name: "Hiromu" }));
    const edit = (body: object) =>
      changeBy(stack, "admin-contributors/edit", { as: administrator.token, path: { id }, body });
    const first_name = randomUUID();
    earlier = await edit({ first_name, public: true, added_aliases: ["B"] });
    [{ id: alias } = { id: 0 }] = await stack.sql<{ id: number }[]>`
      select id from contributor_aliases where contributor_id = ${id}
    `;
    later = await edit({ first_name: `${first_name} C`, public: true, removed_aliases: [alias] });
  });

  const printed = async (payload: object) => words("undo", await undo(stack, payload), payload);

  it("prints why a change is refused, by which rows and whom", async () => {
    const by = `by change ${later} of ada, ${time}`;

    expect(await printed({ change: earlier })).toEqual([
      "Undid nothing",
      "",
      "Cannot undo 1 change:",
      `${earlier}  Its rows have changed since`,
      like(`^    contributor ${id}  alias ${alias}  gone, ${by}$`),
      like(`^    contributor ${id}  first_name "[^"]+ C", ${by}$`),
    ]);
  });

  it("prints what a dry run would undo", async () => {
    expect(await printed({ change: later, dryRun: true })).toEqual([
      "Would undo 1 change",
      like(`^${later}  ${time}  ada$`),
      like('^    first_name "[^"]+ C" → "[^"]+"$'),
      like('^    [+] alias "B"$'),
    ]);
  });

  it("ends with 1 when a change is refused in a dry run", async () => {
    expect(await run("ops/undo", { change: earlier, dryRun: true })).toMatchObject({ code: 1 });
  });

  it("ends with 0 when a change is undone", async () => {
    const output = like("^Undid 1 change, as change \\d+\n");

    expect(await run("ops/undo", { change: later })).toMatchObject({ code: 0, output });
  });

  it("ends with 1 when a change was undone before", async () => {
    await run("ops/undo", { change: later });
    const why = `${later}  It was undone by change ${await latestChange(stack.sql)}`;

    const { code, output } = await run("ops/undo", { change: later });

    expect([code, output]).toEqual([1, like(`^Undid nothing\n\nCannot undo 1 change:\n${why}`)]);
  });

  it("prints what is missing nevertheless, and that changes are left", () => {
    const change = { change: 7, endpoint: "admin-roles/delete", role: "colophon_editor", userId: 1, username: "ada" };
    const undone = [{ ...change, at: "2026-11-23T07:30:12Z", what: ["added"], missing: ["User 5 was deleted"] }];
    const result = { undone, refused: [], isDone: false };
    const entry = ["7  2026-11-23 07:30:12Z  ada", "    added", "    missing: User 5 was deleted", ""];

    const left = "Some changes are left: invoke it again with the same payload.";
    expect(words("undo", { ...result, change: 8 })).toEqual(["Undid 1 change, as change 8", ...entry, left]);
    const untried = "Older changes are left: a dry run tries as many as fit into one call.";
    expect(words("undo", result, { dryRun: true })).toEqual(["Would undo 1 change", ...entry, untried]);
  });
});

describe("npm run invoke", () => {
  it("prints what others have written so that it cannot control the terminal, with --json as it is", async () => {
    const { id } = await aContributor(stack.sql);
    // As another program may write it.
    const name = "Zoe\u001b[31m\u009b2J\u202e\u{e0001}\n";
    await stack.sql`update contributors set first_name = ${name} where id = ${id}`;
    const payload = { record: `contributor/${id}` };

    const shown = (await run("ops/list-changes", payload)).output;
    const json = (await run("ops/list-changes", payload, "--json")).output;
    const broken = await run("ops/list-changes", `{${name}`);

    for (const text of [shown, json, broken.complaint]) expect(text).not.toMatch(/[^\P{C}\n]/u);
    expect(shown).toMatch(new RegExp(`^\\d+  ${time}  `));
    expect(shown).toContain(String.raw`Zoe\u001b[31m\u009b2J\u202e`);
    expect(JSON.parse(json).changes[0].name).toContain(name.trim());
    const complaint = expect.stringContaining(String.raw`The payload is not JSON: {Zoe\u001b[31m`);
    expect(broken).toEqual({ code: 1, output: "", complaint });
  });

  it("prints why a function does nothing as a sentence, without a stack trace", async () => {
    const payload = { username: "ada" };
    const errorMessage = "The username is taken";

    expect(await run("ops/create-user", payload)).toEqual({ code: 1, output: "", complaint: `${errorMessage}\n` });
    expect(await stack.lambda.invoke("ops-create-user", payload)).toEqual({
      error: { errorType: "Refusal", errorMessage, trace: [`Refusal: ${errorMessage}`] },
    });
  });

  it("shows what another release returns as it is", () => {
    expect(resultInWords("ops/list-changes", { changes: [{ id: 1 }], next: null }, {})).toBeUndefined();
    expect(resultInWords("ops/tidy", { changes: 1 }, {})).toBeUndefined();
  });
});

it("The report of an import has counts, the first refused lines, and says what is left", () => {
  const counts = { lines: 1_300, added: 1_200, changed: 3, unchanged: 95, refusedCount: 0, refused: [], isDone: true };
  const report = { ...counts, kinds: {}, changedOf: {}, published: 0 };
  expect(words("import", report)).toEqual(["Imported 1,300 lines: 1,200 added, 3 changed, 95 unchanged, 0 refused"]);
  const kinds = { contributor: { added: 1_200, changed: 3 } };
  expect(words("import", { ...report, kinds, changedOf: { 0: 2, 7: 1 }, published: 4 }).slice(1)).toEqual([
    "    contributor: 1,200 added, 3 changed",
    "    changed records without a client: 2",
    "    changed records of client 7: 1",
    "    contributors that became public: 4",
  ]);
  expect(words("import", report, { dryRun: true })[0]).toMatch(/^Would import 1,300 lines: /);
  const refused = [
    { line: 7, field: "first_name", reason: "another contributor has this name" },
    { line: 1_200, field: null, reason: "no JSON" },
  ];

  expect(words("import", { ...report, refused, refusedCount: 1_002, isDone: false }).slice(1)).toEqual([
    "",
    "Refused lines, which change nothing:",
    "7  first_name  another contributor has this name",
    "1200  no JSON",
    "and 1,000 more, which the log has",
    "",
    "Some lines are left: invoke it again with the same payload.",
  ]);
});
