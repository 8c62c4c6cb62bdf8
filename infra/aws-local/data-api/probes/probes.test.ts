import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOf, key, useEmulator } from "../../test/emulator.ts";
import { serviceLimits } from "../limits.ts";
import { startDataApi } from "../server.ts";
import { themesOf } from "./all.ts";
import { fixture } from "./fixture.ts";
import { runProbe } from "./run.ts";

/** The service's 45 s and 3 minutes, shortened. */
const limits = { ...serviceLimits, statementTimeoutInMilliseconds: 1000, transactionIdleInMilliseconds: 1000 };
const emulator = useEmulator();
let impatient: Awaited<ReturnType<typeof startDataApi>>;

beforeAll(async () => {
  const { postgres, execute } = emulator;
  impatient = await startDataApi({ databaseUrl: postgres.url, key, limits });
  for (const sql of fixture) await execute(sql);
});

afterAll(() => impatient.close());

describe.each(Object.entries(themesOf(limits)))("%s", (theme, probes) => {
  it.concurrent.each(probes)("$name", async (probe) => {
    const client = theme === "timeOuts" ? clientOf(impatient.url) : emulator.client;
    const results = await runProbe({ ...emulator.target, client }, probe);

    expect(results.filter(({ differs }) => differs)).toEqual([]);
  });
});
