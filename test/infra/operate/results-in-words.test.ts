import { execFile } from "node:child_process";
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
import { aUser } from "../../support/people.ts";
import { useStack } from "../../support/stack.ts";
import { latestChange } from "../../support/undo.ts";

const stack = useStack();
const administrator = useAdministrator(stack);
let data: string;

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), "colophon-answers-"));
  await writeCredentials(data, key);
  await stack.sql`update users set username = 'ada' where id = ${administrator.id}`;
});

afterAll(() => rm(data, { recursive: true }));

/** What `npm run invoke` prints of the result, line by line. */
async function printed(name: string, payload: object, width = 120): Promise<string[]> {
  const result = await resultOf({ name, payload: JSON.stringify(payload), url: stack.url, data });
  const text = resultInWords(name, result, payload, width);
  return stripVTControlCharacters(text ?? JSON.stringify(result)).split("\n");
}

const script = join(import.meta.dirname, "../../../infra/operate/invoke.ts");

/** What `npm run invoke -- NAME PAYLOAD` prints and ends with. */
const run = (name: string, payload: string, ...flags: string[]) =>
  new Promise<{ code: number; output: string; complaint: string }>((resolve) => {
    const words = [script, name, payload, "--url", stack.url, "--data", data, ...flags];
    execFile(process.execPath, words, (error, output, complaint) =>
      resolve({ code: Number(error?.code ?? 0), output, complaint }),
    );
  });

const exitCode = async (name: string, payload: string) => (await run(name, payload)).code;

const edit = (id: number, body: object) =>
  stack.call("admin-contributors/edit", { as: administrator.token, path: { id }, body });

/** The id of the newest change. */
const newest = () => latestChange(stack.sql);

const time = String.raw`\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}Z`;

describe("npm run invoke -- ops/list-changes", () => {
  it("prints a table, and how to go on", async () => {
    const { id } = await aContributor(stack.sql, { first_name: "Osam", public: false });
    await edit(id, { first_name: "Osamu", added_aliases: ["God of Manga"] });
    await edit(id, { first_name: "Osamu", public: true });
    const record = `contributor/${id}`;

    const lines = await printed("ops/list-changes", { record, limit: 1 });

    expect(lines).toEqual([
      expect.stringMatching(/^id +at {20}by {3}record {19}what$/),
      expect.stringMatching(new RegExp(`^\\d+ +${time}  ada  contributor ${id} +public no → yes$`)),
      expect.stringMatching(/^ +Osamu$/),
      expect.stringMatching(/^ +admin-contributors\/edit$/),
      "",
      expect.stringMatching(/^There are more: add "before": \d+ to the payload\.$/),
    ]);
    const [, before] = /"before": (\d+)/.exec(lines.at(-1) ?? "") ?? [];
    const [, first, second, , addition] = await printed("ops/list-changes", { record, before: Number(before) });
    expect(first).toMatch(/\+ alias "God of Manga"$/);
    expect(second).toMatch(/Osamu +first_name "Osam" → "Osamu"$/);
    expect(addition).toMatch(/ {2}role colophon {2}contributor \d+ +added$/);
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

  it("prints plain text where there is no terminal, and with --json the answer as it is", async () => {
    const text = (await run("ops/list-changes", '{"limit": 1}')).output;
    expect(text).toMatch(/^id +at +by +record +what\n/);
    expect(text).toBe(stripVTControlCharacters(text));
    const { output } = await run("ops/list-changes", '{"limit": 1}', "--json");
    expect(JSON.parse(output).changes).toHaveLength(1);
  });

  it("says that there are none, and has date and time below each other on a narrow terminal", async () => {
    expect(await printed("ops/list-changes", { user: "nobody" })).toEqual(["No changes"]);
    const [head = "", ...lines] = await printed("ops/list-changes", {}, 80);

    expect(head).toMatch(/^id +at {10}by /);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
    expect(lines[1]).toMatch(/^ +\d{2}:\d{2}:\d{2}Z/);
  });
});

describe("npm run invoke -- ops/undo", () => {
  it("tells what would be undone, and what was", async () => {
    const { id } = await aContributor(stack.sql, { first_name: "Rumiko", public: false });
    await edit(id, { first_name: "Rumika", public: true });
    const change = await newest();
    const row = new RegExp(`^${change} +${time}  ada  public yes → no$`);

    const [would, head, ...lines] = await printed("ops/undo", { change, dryRun: true });
    expect([would, head]).toEqual(["Would undo 1 change", expect.stringMatching(/^id.* would be done$/)]);
    expect(lines).toEqual([expect.stringMatching(row), expect.stringMatching(/^ +first_name "Rumika" → "Rumiko"$/)]);

    const [did, , ...done] = await printed("ops/undo", { change });
    expect(did).toBe(`Undid 1 change, as change ${await newest()}`);
    expect(done).toEqual(lines);
  });

  it("tells what was changed again since, by whom, and what is undone in spite of that", async () => {
    const { id } = await aContributor(stack.sql, { first_name: "Hiromu" });
    await edit(id, { first_name: "A", public: true, added_aliases: ["B"] });
    const change = await newest();
    const [alias] = await stack.sql`select id from contributor_aliases where contributor_id = ${id}`;
    await edit(id, { first_name: "C", public: true, removed_aliases: [alias?.id] });
    const by = `by change ${await newest()} of ada, ${time}`;

    const [nothing, blank, left, ...conflicts] = await printed("ops/undo", { change }, 160);
    expect([nothing, blank, left]).toEqual([
      "Undid nothing",
      "",
      'Left 1 change, since something is different now (or add "force": true):',
    ]);
    expect(conflicts).toEqual([
      expect.stringMatching(/^id +record +now$/),
      expect.stringMatching(new RegExp(`^${change} +contributor ${id}  aliases/${alias?.id}: gone, ${by}$`)),
      expect.stringMatching(new RegExp(`^${change} +contributor ${id}  first_name: "C", ${by}$`)),
    ]);

    const [did, , ...lines] = await printed("ops/undo", { change, force: true }, 160);
    expect(did).toMatch(/^Undid 1 change, as change \d+$/);
    expect(lines).toEqual([
      expect.stringMatching(/first_name "C" → "Hiromu"$/),
      expect.stringMatching(new RegExp(`overrides first_name: "C", ${by}$`)),
      expect.stringMatching(new RegExp(`left out aliases/${alias?.id}: gone, ${by}$`)),
    ]);
  });

  it("tells what cannot be undone, and why", async () => {
    await stack.lambda.invoke("ops-end-sessions", { user: (await aUser(stack.sql)).id });
    const change = await newest();
    expect(await printed("ops/undo", { change })).toEqual([
      "Undid nothing",
      "",
      "Cannot undo 1 change:",
      expect.stringMatching(/^id +why$/),
      `${change}  It changed nothing, or what it did is forgotten`,
    ]);
    await expect(printed("ops/undo", { change: 987_654 })).rejects.toThrow("There is no change 987654");
    await expect(
      printed("ops/undo", { user: "nobody", from: "2026-11-23T00:00:00Z", to: "2026-11-24T00:00:00Z" }),
    ).rejects.toThrow("There is no user nobody, nor was there one who changed something");
  });

  it("ends with 1 unless all is undone", async () => {
    const { id } = await aContributor(stack.sql, { gender: "a" });
    await edit(id, { first_name: "One", gender: "b" });
    const change = await newest();
    await edit(id, { first_name: "One", gender: "c" });
    const endsWith = async (payload: object) => await exitCode("ops/undo", JSON.stringify(payload));

    expect(await endsWith({ change: 987_654 })).toBe(1);
    expect(await endsWith({ change, dryRun: true })).toBe(1);
    expect(await endsWith({ change })).toBe(1);
    expect(await endsWith({ change, force: true })).toBe(0);
    // It is undone already.
    expect(await endsWith({ change, force: true })).toBe(1);
  });
});

describe("npm run invoke -- ops/merge-contributors", () => {
  it("tells what the kept one would get, and gets, and why it is refused", async () => {
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
      `  left out: contributor ${merged.id}'s description (English): "Lost"`,
    ];

    expect(await printed("ops/merge-contributors", { ...payload, dryRun: true })).toEqual([
      `Would merge ${what}`,
      ...lines,
    ]);
    const done = await printed("ops/merge-contributors", payload);
    expect(done).toEqual([`Merged ${what}, as change ${await newest()}`, ...lines]);
    await expect(printed("ops/merge-contributors", payload)).rejects.toThrow(`Contributor ${merged.id} does not exist`);
  });
});

describe("npm run invoke -- ops/import", () => {
  it("ends with 1 if lines are refused", async () => {
    const lineOf = (client: number) =>
      `{"kind": "contributor", "externalId": "x", "first_name": "X", "client": ${client}}\n`;

    expect(await exitCode("ops/import", JSON.stringify({ source: lineOf(4_711) }))).toBe(1);
    expect(await exitCode("ops/import", JSON.stringify({ source: lineOf(1) }))).toBe(0);
  });
});

describe("npm run invoke", () => {
  it("prints what others have written so that it cannot control the terminal", async () => {
    const { id } = await aContributor(stack.sql);
    await edit(id, { first_name: "Zoe" });
    // As another program may write it.
    const name = "Zoe\u001b[31m\u009b2J\u202e\u{e0001}\n";
    await stack.sql`update contributors set first_name = ${name} where id = ${id}`;
    const payload = JSON.stringify({ record: `contributor/${id}` });

    const table = (await run("ops/list-changes", payload)).output;
    const json = (await run("ops/list-changes", payload, "--json")).output;
    const broken = await run("ops/list-changes", `{${name}`);

    for (const text of [table, json, broken.complaint]) expect(text).not.toMatch(/[^\P{C}\n]/u);
    expect(table).toContain(String.raw`Zoe\u001b[31m\u009b2J\u202e`);
    expect(JSON.parse(json).changes[0].name).toContain(name.trim());
    expect(broken).toMatchObject({ code: 1, output: "" });
    expect(broken.complaint).toContain(String.raw`The payload is not JSON: {Zoe\u001b[31m`);
  });

  it("prints why a function does nothing as a sentence, without a stack trace", async () => {
    const payload = JSON.stringify({ username: "ada" });

    expect(await run("ops/create-user", payload)).toEqual({
      code: 1,
      output: "",
      complaint: "The username is taken\n",
    });
    const { error } = (await stack.lambda.invoke("ops-create-user", { username: "ada" })) as { error: object };
    expect(error).toEqual({
      errorType: "Refusal",
      errorMessage: "The username is taken",
      trace: ["Refusal: The username is taken"],
    });
  });
});

describe("The report of an import", () => {
  const report = { lines: 1_300, added: 1_200, changed: 3, unchanged: 95, refusedCount: 0, refused: [], isDone: true };
  const told = (result: object, event: object = {}) =>
    stripVTControlCharacters(resultInWords("ops/import", result, event, 80) ?? "").split("\n");

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

describe("An answer of another release", () => {
  it("is not told", () => {
    expect(resultInWords("ops/list-changes", { changes: [{ id: 1 }], next: null }, {}, 80)).toBeUndefined();
    expect(resultInWords("ops/tidy", { changes: 1 }, {}, 80)).toBeUndefined();
  });
});
