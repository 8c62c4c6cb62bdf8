import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Colophon } from "../../../lib/client/index.js";
import { useAdministrator } from "../../support/callers.ts";
import { aContributor } from "../../support/catalogue.ts";
import { clientFor, readable } from "../../support/client.ts";
import { type FaultyProxy, startFaultyProxy } from "../../support/faulty-proxy.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();
const administrator = useAdministrator(stack);
const canned = (status: number) => ({
  status,
  headers: { ...readable, "Content-Type": "application/json", "Retry-After": "0" },
  body: JSON.stringify({ data: "Try again", code: status }),
});
let proxy: FaultyProxy;
let colophon: Colophon;

beforeAll(async () => {
  const faults = { unavailable: canned(503), throttled: canned(429), random: Math.random, rate: 0.3 };
  proxy = await startFaultyProxy({ target: stack.url, ...faults });
  colophon = clientFor(proxy, administrator, { retry: { attempts: 30, seconds: 300 } });
});

afterAll(() => proxy.close());

describe("Over a network that resets connections, cuts answers and refuses requests", () => {
  it("each change is made once, and its answer is the right one", async () => {
    const names = Array.from({ length: 40 }, () => randomUUID());

    const added = await Promise.all(
      names.map((first_name) => colophon.POST("/admin-contributors/add", { body: { first_name } })),
    );

    const rows = await stack.sql`select id, first_name from contributors where first_name = any(${names})`;
    const idOf = (name: string) => rows.find(({ first_name }) => first_name === name)?.id;
    expect(added.map(({ created }) => created)).toEqual(names.map(idOf));
    expect(rows).toHaveLength(names.length);
    expect(proxy.counts.faults).toBeGreaterThan(0);
  });

  it("one of many edits at once is saved, and the others are conflicts", async () => {
    const { id } = await aContributor(stack.sql);
    const opened = await colophon.GET("/admin-contributors/id/{id}", { path: { id } });
    if (opened.error) throw new Error(opened.error.data);

    const genders = Array.from({ length: 12 }, (_, index) => `gender ${index}`);
    const results = await Promise.all(genders.map((gender) => colophon.editContributor(opened, { gender })));

    const saved = genders.filter((_, index) => results[index]?.status === "saved");
    const [row] = await stack.sql`select gender, version from contributors where id = ${id}`;
    expect(saved).toEqual([row?.gender]);
    expect(row?.version).toBe(2);
    expect(results.filter(({ status }) => status === "conflict")).toHaveLength(genders.length - 1);
  });

  it("all records of a list are read", async () => {
    const ids = (await stack.sql`select id from contributors order by id`).map(({ id }) => id);

    const all = await colophon.all("/admin-contributors", { query: { client: 1 }, pageSize: 5 });

    expect(all.map(({ id }) => id).sort((one, other) => one - other)).toEqual(ids);
  });
});
