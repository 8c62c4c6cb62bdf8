import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { cachedFolder } from "../../../infra/build/cached-folder.ts";

const cache = "node_modules/.cache/colophon";
let folder: string;
let name: string;
let times: number;

beforeEach(async () => {
  await mkdir(cache, { recursive: true });
  folder = await mkdtemp(join(cache, "kept-test-"));
  name = `${basename(folder)}-made`;
  times = 0;
  await edit("first");
});

afterEach(async () => {
  for (const entry of await readdir(cache))
    if (entry.startsWith(basename(folder))) await rm(join(cache, entry), { recursive: true });
});

const edit = (text: string) => writeFile(join(folder, "input.ts"), text);
const others = async () => (await readdir(cache)).filter((entry) => entry.startsWith(name));

/** Copies the input, and edits it first as often as it is told to. */
const make = (edits = 0) =>
  cachedFolder(name, [folder], async (draft) => {
    times += 1;
    const text = await readFile(join(folder, "input.ts"), "utf8");
    if (times <= edits) await edit(`${text}, edited`);
    await mkdir(draft);
    await writeFile(join(draft, "copy"), text);
  });

const copyIn = (kept: string) => readFile(join(kept, "copy"), "utf8");

it("is made once for the same files, and again when one has changed, also meanwhile", async () => {
  const kept = await make(1);
  expect(await copyIn(kept)).toBe("first, edited");
  expect(times).toBe(2);
  expect(await others()).toHaveLength(1);
  expect(await make()).toBe(kept);
  expect(times).toBe(2);

  await edit("second");

  expect(await copyIn(await make())).toBe("second");
});

it("is whole when several make it at the same time", async () => {
  const [kept, ...rest] = await Promise.all([make(), make(), make()]);

  expect(new Set([kept, ...rest]).size).toBe(1);
  expect(await copyIn(kept)).toBe("first");
  expect(await others()).toHaveLength(1);
});

it("is removed when two newer ones are there and no process uses it", async () => {
  const longAgo = new Date(Date.now() - 11 * 60_000);
  const makeOf = async (text: string) => {
    await edit(text);
    return basename(await make());
  };
  // Another folder's name begins like its own.
  const longer = await cachedFolder(`${name}-longer`, [folder], (draft) => mkdir(draft));
  for (const each of [longer, join(cache, await makeOf("first"))]) await utimes(each, longAgo, longAgo);
  const [second, third] = [await makeOf("second"), await makeOf("third")];
  const fourth = await makeOf("fourth");

  expect((await others()).sort()).toEqual([basename(longer), second, third, fourth].sort());
});
