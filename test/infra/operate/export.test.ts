import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { listenToClients } from "../../../infra/aws-local/http/listen.ts";
import { writeCredentials } from "../../../infra/local/credentials.ts";
import { aContributor } from "../../support/catalogue.ts";
import { key } from "../../support/environment.ts";
import { runScript } from "../../support/script.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack({ uploads: true });
let data: string;
let folder: string;

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), "colophon-data-"));
  await writeCredentials(data, key, stack.s3?.url);
  await aContributor(stack.sql, { slug: "shared", first_name: "Shared" });
  await aContributor(stack.sql, { slug: "other", first_name: "Other", client_id: 2 });
  await stack.sql`insert into contributor_relations (contributor_id, relation_id, relation_type) values (1, 2, 'pupil')`;
});

afterAll(() => rm(data, { recursive: true }));

beforeEach(async () => {
  folder = await mkdtemp(join(data, "out-"));
});

/** `npm run export --` with these words. */
const run = (...words: string[]) =>
  runScript("infra/operate/export.ts", ["--url", stack.url, "--data", data, ...words], { cwd: folder });

const clients = '{"kind":"client","id":1,"name":"First"}\n{"kind":"client","id":2,"name":"Second"}\n';
const shared =
  '{"kind":"contributor","externalId":"slug:shared","slug":"shared","public":true,"first_name":"Shared"}\n';
const other =
  '{"kind":"contributor","externalId":"slug:other","slug":"other","client":2,"public":true,"first_name":"Other"}\n' +
  '{"kind":"contributor-relation","from":"slug:shared","to":"slug:other","relation_type":"pupil"}\n';

describe("npm run export", () => {
  it("prints the catalogue, and what it does apart from it", async () => {
    const { code, output, complaint } = await run();

    expect({ code, output }).toEqual({ code: 0, output: clients + shared + other });
    expect(complaint).toMatch(/^s3:\/\/transfers\/exports\/all-.* has 5 lines, \d+ bytes$/m);
    expect(complaint).not.toContain("Skipped");
  });

  it("writes what belongs to a client to a file, and says that it is not all", async () => {
    const { code, output, complaint } = await run("--client", "1", "--out", "first.jsonl");

    expect({ code, output }).toEqual({ code: 0, output: "" });
    expect(complaint).toContain("Skipped: 1 reference to other clients' records");
    expect(await readdir(folder)).toEqual(["first.jsonl"]);
    expect(await readFile(join(folder, "first.jsonl"), "utf8")).toBe(`${clients.split("\n")[0]}\n${shared}`);
  });

  it.each([
    [["--client", "9"], "There is no client 9"],
    [["--client", "first"], "--client takes a client's id, not first"],
    [["--stage", "prod", "--url", "http://localhost"], "--url and --data are for the local service"],
    [["--out", tmpdir()], `${tmpdir()} is a directory, not a file\n`],
    [["--out", "nowhere/all.jsonl"], "There is no file or directory nowhere\n"],
  ])("fails with %j, and writes nothing", async (words, message) => {
    const { code, output, complaint } = await run("--out", "all.jsonl", ...words);

    expect({ code, output }).toEqual({ code: 1, output: "" });
    expect(complaint).toContain(message);
    expect(await readdir(folder)).toEqual([]);
    // It has not let the function read everything before.
    if (words[0] === "--out") expect(complaint).toBe(message);
  });

  it("leaves no part of a file when the download breaks off", async () => {
    const cutting = createServer((_, response) => {
      response.writeHead(200, { "content-length": 1_000 }).write(clients, () => response.destroy());
    });
    const { url, close } = await listenToClients(cutting);
    const elsewhere = join(folder, "data");
    await mkdir(elsewhere);
    await writeCredentials(elsewhere, key, url);

    const { code } = await run("--data", elsewhere, "--out", "all.jsonl");

    await close();
    expect(code).toBe(1);
    expect(await readdir(folder)).toEqual(["data"]);
  });
});
