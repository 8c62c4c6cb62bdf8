import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { useAdministrator } from "../../support/callers.ts";
import { clientFor, type Fault, faultyNetwork, headerOf, refusal } from "../../support/client.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();
const administrator = useAdministrator(stack);

const soon = { "Retry-After": "0" };
const later = { "Retry-After": "20" };
const read = (...faults: readonly Fault[]) => {
  const { sent, fetch } = faultyNetwork(...faults);
  const colophon = clientFor(stack, administrator, { fetch });
  return { sent, colophon, read: () => colophon.GET("/admin-roles") };
};

describe("A read", () => {
  it.each([
    ["429", refusal(429, soon)],
    ["503", refusal(503, soon)],
    ["504", refusal(504, soon)],
    ["no answer", "request lost"],
    ["an answer that breaks off", "answer broken off"],
  ] as const)("is sent again after %s", async (_, fault) => {
    const { sent, read: list } = read(fault);

    const { data } = await list();

    expect(data?.length).toBeGreaterThan(0);
    expect(sent).toHaveLength(2);
  });

  it.each([
    ["500", refusal(500, soon)],
    ["401", refusal(401)],
    ["503 of a service that has no file service", refusal(503)],
    ["503 that names no time to wait", refusal(503, { "Retry-After": "soon" })],
    ["429 that asks for more seconds than the call has", refusal(429, { "Retry-After": "300" })],
  ])("is sent once if the answer is a %s", async (_, fault) => {
    const { sent, read: list } = read(fault);

    const { error } = await list();

    expect(error?.code).toBe(fault.status);
    expect(sent).toHaveLength(1);
  });

  it("is sent three times at most, and then has the last answer", async () => {
    const { sent, read: list } = read(refusal(503, soon), refusal(503, soon), refusal(429, soon));

    expect((await list()).error?.code).toBe(429);
    expect(sent).toHaveLength(3);
  });

  it("rejects if there is never an answer", async () => {
    const { sent, read: list } = read("request lost", "answer lost", "answer broken off");

    await expect(list()).rejects.toThrow("terminated");
    expect(sent).toHaveLength(3);
  });

  it("is sent as often, and waits as long in all, as the client or the call says", async () => {
    const network = () => faultyNetwork(...Array.from({ length: 9 }, () => refusal(429, soon)));
    const [twice, once, five, never] = [network(), network(), network(), faultyNetwork(refusal(429, later))];

    await clientFor(stack, administrator, { ...twice, retry: { attempts: 2 } }).GET("/admin-roles");
    await clientFor(stack, administrator, { ...once, retry: false }).GET("/admin-roles");
    await clientFor(stack, administrator, { ...five, retry: false }).GET("/admin-roles", { retry: { attempts: 5 } });
    await clientFor(stack, administrator, { ...never, retry: { seconds: 19 } }).GET("/admin-roles");

    expect([twice, once, five, never].map(({ sent }) => sent.length)).toEqual([2, 1, 5, 1]);
  });

  it("ends at once when its signal is aborted, also while it waits", async () => {
    const abortion = new AbortController();
    const { sent, colophon } = read(refusal(503, later));

    const result = colophon.GET("/admin-roles", { signal: abortion.signal });
    await expect.poll(() => sent.length).toBe(1);
    abortion.abort(new Error("The page was left"));

    await expect(result).rejects.toThrow("The page was left");
    await expect(colophon.GET("/admin-roles", { signal: abortion.signal })).rejects.toThrow("The page was left");
    expect(sent).toHaveLength(1);
  });
});

describe("A change", () => {
  const rolesOf = async (name: string) => (await stack.sql`select from roles where name = ${name}`).length;
  const changesBy = async (key: string | null) => (await stack.sql`select from changes where key = ${key}`).length;

  it.each([
    ["its answer is lost", ["answer lost"]],
    ["the request is lost, and then its answer", ["request lost", "answer lost"]],
    ["its answer breaks off, and then a gateway gives up", ["answer broken off", refusal(504, soon)]],
  ] as const)("is made once, and has its answer, if %s", async (_, faults) => {
    const { sent, colophon } = read(...faults);
    const name = randomUUID();

    const { data } = await colophon.POST("/admin-roles/add", { body: { name, description: "d" } });

    expect(data).toEqual({ data: "Role added", code: 200 });
    expect(sent).toHaveLength(faults.length + 1);
    expect(new Set(sent.map((request) => headerOf(request, "Idempotency-Key"))).size).toBe(1);
    expect([await rolesOf(name), await changesBy(headerOf(sent[0], "Idempotency-Key"))]).toEqual([1, 1]);
  });

  it("has a key of its own each time, or the one it is given", async () => {
    const { sent, colophon } = read();
    const add = (headers = {}) =>
      colophon.POST("/admin-roles/add", { body: { name: randomUUID(), description: "d" }, headers });

    await add();
    await add();
    await add({ "idempotency-key": "mine" });

    const keys = sent.map((request) => headerOf(request, "Idempotency-Key"));
    expect(new Set(keys).size).toBe(3);
    expect(keys[2]).toBe("mine");
    expect(keys[0]).toMatch(/^[\w-]{20,}$/);
  });

  it("is not sent again after what will be refused again", async () => {
    const { sent, colophon } = read();

    const { error } = await colophon.POST("/admin-users/update-image/{id}", {
      path: { id: administrator.id },
      body: { image: "data:image/png;base64,AAAA" },
    });

    expect(error).toEqual({ code: 503, data: "This service is not handling file uploads." });
    expect(sent).toHaveLength(1);
  });
});
