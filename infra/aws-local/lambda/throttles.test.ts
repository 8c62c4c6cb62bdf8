import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { streaming, writeFunctions } from "../test/functions.ts";
import { type Lambda, startLambda } from "./lambda.ts";
import { TooManyRequests } from "./refusals.ts";

let built: Awaited<ReturnType<typeof writeFunctions>>;

beforeAll(async () => {
  built = await writeFunctions({
    "things/add": "export const handler = async (name) => { tell(name); await gate(); return name; };",
    "things/list": streaming("tell(event); await gate(); start(); stream.end();"),
  });
});

afterAll(() => built.remove());

beforeEach(() => {
  built.forget();
  vi.spyOn(console, "error").mockImplementation(() => {});
});

const invoke = (lambda: Lambda, name: string) => lambda.invoke("things-add", name);
const stream = async (lambda: Lambda, name: string) => {
  const invocation = await lambda.stream("things-list", name);
  if ("body" in invocation) invocation.body.destroy();
};

describe("An invocation", () => {
  it.each([
    ["", invoke],
    [" that streams", stream],
  ])("that has waited for half of API Gateway's time is throttled, and never runs: one%s", async (_, run) => {
    const gatewayInMilliseconds = 3_000;
    const lambda = await startLambda({ ...built, limits: { environments: 1, gatewayInMilliseconds } });
    built.newGate()();
    await run(lambda, "opening");
    built.forget();
    const release = built.newGate();

    const first = run(lambda, "first");
    await expect.poll(() => built.seen()).toEqual(["first"]);
    const late = sleep(0.6 * gatewayInMilliseconds);
    await expect(Promise.race([run(lambda, "throttled"), late])).rejects.toThrow(TooManyRequests);
    release();

    await first;
    await run(lambda, "last");
    expect(built.seen()).toEqual(["first", "last"]);
    await lambda.close();
  });

  it("waits for the environment that is opened for it, however long that takes", async () => {
    const gatewayInMilliseconds = 100;
    const prepare = () => sleep(5 * gatewayInMilliseconds, undefined);
    const lambda = await startLambda({ ...built, prepare, limits: { gatewayInMilliseconds } });
    built.newGate()();

    expect(await invoke(lambda, "only")).toEqual({ result: "only" });
    await lambda.close();
  });
});
