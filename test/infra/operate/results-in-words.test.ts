import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeCredentials } from "../../../infra/local/credentials.ts";
import { resultOf } from "../../../infra/operate/invoke.ts";
import { resultInWords } from "../../../infra/operate/results-in-words.ts";
import { useAdministrator } from "../../support/callers.ts";
import { aContributor, aSeries } from "../../support/catalogue.ts";
import { key } from "../../support/environment.ts";
import { runScript } from "../../support/script.ts";
import { useStack } from "../../support/stack.ts";
import { latestChange } from "../../support/undo.ts";

const stack = useStack();
const administrator = useAdministrator(stack);
let data: string;

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), "colophon-results-"));
  await writeCredentials(data, key);
  await stack.sql`update users set username = 'ada' where id = ${administrator.id}`;
});

afterAll(() => rm(data, { recursive: true }));

const plainLines = (text = "") => stripVTControlCharacters(text).split("\n");

/** What `npm run invoke` prints of the result, line by line. */
async function printed(name: string, payload: object, width = 120): Promise<string[]> {
  const result = await resultOf({ name, payload: JSON.stringify(payload), url: stack.url, data });
  return plainLines(resultInWords(name, result, payload, width));
}

/** What `npm run invoke -- NAME PAYLOAD` prints and ends with. */
const run = (name: string, payload: object | string, ...flags: string[]) => {
  const sent = typeof payload === "string" ? payload : JSON.stringify(payload);
  return runScript("infra/operate/invoke.ts", [name, sent, "--url", stack.url, "--data", data, ...flags]);
};

const call = (name: string, id: number, body?: object) =>
  stack.call(`admin-contributors/${name}`, { as: administrator.token, path: { id }, body });
const edit = (id: number, body: object) => call("edit", id, body);
const newest = () => latestChange(stack.sql);
const like = (pattern: string) => expect.stringMatching(new RegExp(pattern));
const time = String.raw`\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}Z`;

describe("npm run invoke -- ops/list-changes", () => {
  it("prints a table, and how to go on", async () => {
    const { id } = await aContributor(stack.sql, { first_name: "Osam", public: false });
    await edit(id, { first_name: "Osamu", added_aliases: ["God of Manga"] });
    await edit(id, { first_name: "Osamu", public: true });
    const record = `contributor/${id}`;

    const lines = await printed("ops/list-changes", { record, limit: 1 });

    expect(lines).toEqual([
      like("^id +at {20}by {3}record {19}what$"),
      like(`^\\d+ +${time}  ada  contributor ${id} +public no → yes$`),
      like("^ +Osamu$"),
      like("^ +admin-contributors/edit$"),
      "",
      like(`^There are more: add "before": ${await newest()} to the payload\\.$`),
    ]);
    const [, first, second, , addition] = await printed("ops/list-changes", { record, before: await newest() });
    expect(first).toMatch(/\+ alias "God of Manga"$/);
    expect(second).toMatch(/Osamu +first_name "Osam" → "Osamu"$/);
    expect(addition).toMatch(/ {2}role colophon {2}contributor \d+ +added$/);
    expect(await printed("ops/list-changes", { user: "nobody" })).toEqual(["No changes"]);
  });

  it("prints the reason of an operator, and what was undone", async () => {
    const { id } = await aContributor(stack.sql, { first_name: "Shigeru", gender: "a" });
    await stack.sql`update contributors set gender = 'b' where id = ${id}`;
    const change = await newest();
    await stack.lambda.invoke("ops-undo", { change, reason: "Twice there" });

    const [, ...lines] = await printed("ops/list-changes", { record: `contributor/${id}` }, 160);

    expect(lines.slice(0, 5).map((line) => line.slice(line.lastIndexOf("  ") + 2))).toEqual([
      `undoes ${change}`,
      'gender "b" → "a"',
      "reason: Twice there",
      'gender "a" → "b"',
      `undone by ${await newest()}`,
    ]);
    expect(lines[0]).toMatch(new RegExp(`  an operator +contributor ${id}  `));
  });

  it("breaks no endpoint in the middle of a word, and on a narrow terminal has date and time below each other", () => {
    const change = { id: 1_234, at: "2026-11-23T07:30:12Z", by: "administrator", role: "colophon", userId: 1 };
    const endpoint = "admin-contributors/delete-avatar";
    const more = { record: "contributor 1234567", name: null, what: ["image"], undoes: null, undoneBy: null };
    const result = { changes: [{ ...change, ...more, endpoint, requestId: null, reason: null }], next: null };
    const shown = (width: number) => plainLines(resultInWords("ops/list-changes", result, {}, width)).slice(1);

    expect(shown(100).at(-1)?.trim()).toBe(endpoint);
    expect(shown(80)).toEqual([
      "1234  2026-11-23  administrator  contributor 1234567  image",
      "      07:30:12Z                  admin-contributors/",
      "                                 delete-avatar",
    ]);
  });
});

describe("npm run invoke -- ops/undo", () => {
  it("tells what was changed again since, by whom, and what is undone in spite of that; ends with 1 unless all is", async () => {
    const { id } = await aContributor(stack.sql, { first_name: "Hiromu" });
    await edit(id, { first_name: "A", public: true, added_aliases: ["B"] });
    const change = await newest();
    const [alias] = await stack.sql`select id from contributor_aliases where contributor_id = ${id}`;
    await edit(id, { first_name: "C", public: true, removed_aliases: [alias?.id] });
    const by = `by change ${await newest()} of ada, ${time}`;

    expect(await printed("ops/undo", { change }, 160)).toEqual([
      "Undid nothing",
      "",
      'Left 1 change, since something is different now (or add "force": true):',
      like("^id +record +now$"),
      like(`^${change} +contributor ${id}  aliases/${alias?.id}: gone, ${by}$`),
      like(`^${change} +contributor ${id}  first_name: "C", ${by}$`),
    ]);
    expect(await run("ops/undo", { change, dryRun: true })).toMatchObject({ code: 1 });
    expect(await printed("ops/undo", { change, force: true, dryRun: true }, 160)).toEqual([
      "Would undo 1 change",
      like("^id.* would be done$"),
      like('first_name "C" → "Hiromu"$'),
      like(`overrides first_name: "C", ${by}$`),
      like(`skipped aliases/${alias?.id}: gone, ${by}$`),
    ]);
    const output = like("^Undid 1 change, as change \\d+\n");
    expect(await run("ops/undo", { change, force: true })).toMatchObject({ code: 0, output });
    // It is undone already.
    expect(await run("ops/undo", { change, force: true })).toMatchObject({ code: 1 });
  });

  it("tells what cannot be undone, and why", async () => {
    await stack.lambda.invoke("ops-end-sessions", { user: administrator.id, by: "somebody" });
    const change = await newest();

    const lines = await printed("ops/undo", { change });

    const why = `${change}  It changed nothing that can be undone, or what it did is forgotten`;
    expect(lines).toEqual(["Undid nothing", "", "Cannot undo 1 change:", like("^id +why$"), why]);
  });
});

describe("npm run invoke -- ops/merge-contributors", () => {
  it("tells what the kept one would get, and gets", async () => {
    const kept = await aContributor(stack.sql, { first_name: "Keiko", last_name: "Takemiya" });
    const merged = await aContributor(stack.sql, { first_name: "K.", last_name: "Takemiya", gender: "female" });
    const friend = await aContributor(stack.sql);
    await aSeries(stack.sql, { by: merged });
    await stack.sql`
      insert into contributor_descriptions (contributor_id, language, description)
      values (${kept.id}, 'English', 'Kept'), (${merged.id}, 'English', 'Lost'), (${merged.id}, 'German', 'Neu')
    `;
    await stack.sql`
      insert into contributor_relations (contributor_id, relation_id, relation_type)
      values (${friend.id}, ${merged.id}, 'friend')
    `;
    const payload = { keep: kept.id, merge: [merged.id] };
    const what = `contributor ${merged.id}, K. Takemiya into contributor ${kept.id}`;
    const lines = [
      "  aliases added: K. Takemiya",
      "  descriptions added: German",
      "  1 series added",
      '  gender was empty, now "female"',
      `  slug ${merged.slug} leads to contributor ${kept.id}`,
      `  relations of 1 contributor lead to contributor ${kept.id}`,
      `  skipped: contributor ${merged.id}'s description (English): "Lost"`,
    ];

    const would = await printed("ops/merge-contributors", { ...payload, dryRun: true });
    expect(would).toEqual([`Would merge ${what}`, ...lines]);
    const done = await printed("ops/merge-contributors", payload);
    expect(done).toEqual([`Merged ${what}, as change ${await newest()}`, ...lines]);
  });
});

describe("npm run invoke", () => {
  it("prints what others have written so that it cannot control the terminal, with --json as it is", async () => {
    const { id } = await aContributor(stack.sql);
    // As another program may write it.
    const name = "Zoe\u001b[31m\u009b2J\u202e\u{e0001}\n";
    await stack.sql`update contributors set first_name = ${name} where id = ${id}`;
    const payload = { record: `contributor/${id}` };

    const table = (await run("ops/list-changes", payload)).output;
    const json = (await run("ops/list-changes", payload, "--json")).output;
    const broken = await run("ops/list-changes", `{${name}`);

    for (const text of [table, json, broken.complaint]) expect(text).not.toMatch(/[^\P{C}\n]/u);
    expect(table).toMatch(/^id +at +by +record +what\n/);
    expect(table).toContain(String.raw`Zoe\u001b[31m\u009b2J\u202e`);
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
    expect(resultInWords("ops/list-changes", { changes: [{ id: 1 }], next: null }, {}, 80)).toBeUndefined();
    expect(resultInWords("ops/tidy", { changes: 1 }, {}, 80)).toBeUndefined();
  });
});

describe("The report of an import", () => {
  const report = { lines: 1_300, added: 1_200, changed: 3, unchanged: 95, refusedCount: 0, refused: [], isDone: true };
  const told = (result: object, event: object = {}) => plainLines(resultInWords("ops/import", result, event, 80));

  it("has counts", () => {
    expect(told(report)).toEqual(["Imported 1,300 lines: 1,200 added, 3 changed, 95 unchanged, 0 refused"]);
    expect(told(report, { dryRun: true })[0]).toMatch(/^Would import 1,300 lines: /);
  });

  it("has a table of the first refused lines, and says what is left", () => {
    const refused = [
      { line: 7, field: "first_name", reason: "another contributor has this name" },
      { line: 1_200, field: null, reason: "no JSON" },
    ];

    expect(told({ ...report, refused, refusedCount: 1_002, isDone: false }).slice(1)).toEqual([
      "",
      "Refused lines, which change nothing:",
      "line  field       why",
      "7     first_name  another contributor has this name",
      "1200              no JSON",
      "and 1,000 more, which the log has",
      "",
      "Some lines are left: invoke it again with the same payload.",
    ]);
  });
});
