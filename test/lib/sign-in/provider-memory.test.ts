import * as openid from "openid-client";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { type HostileProvider, startHostileProvider } from "../../support/hostile-provider.ts";

let provider: HostileProvider;
let memory: typeof import("../../../lib/sign-in/provider.ts");

beforeAll(async () => {
  provider = await startHostileProvider();
  vi.stubEnv("SIGN_IN_ISSUER", provider.issuer);
  vi.stubEnv("SIGN_IN_CLIENT_ID", "colophon");
  memory = await import("../../../lib/sign-in/provider.ts");
});

afterEach(() => vi.useRealTimers());

afterAll(async () => {
  vi.unstubAllEnvs();
  await provider.close();
});

const minute = 60_000;
const discovery = "/.well-known/openid-configuration";
const asked = () => provider.requests.length;

/** Keys that a sign-in has fetched. */
async function keep(): Promise<void> {
  const configuration = memory.configurationOf(await memory.findProvider());
  openid.setJwksCache(configuration, { jwks: { keys: [] }, uat: 1 });
  memory.keepKeys(configuration);
}

const knowsKeys = async () => openid.getJwksCache(memory.configurationOf(await memory.findProvider())) !== undefined;

describe("What an environment knows of the provider", () => {
  it("counts for an hour, the keys, too, or as long as the provider does not answer", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const pass = (milliseconds: number) => vi.setSystemTime(Date.now() + milliseconds);
    await keep();

    pass(60 * minute - 1);
    expect([await knowsKeys(), asked()]).toEqual([true, 1]);
    pass(1);
    expect([await knowsKeys(), asked()]).toEqual([false, 2]);

    await keep();
    pass(60 * minute);
    for (const wrong of [{ issuer: "https://other.example" }, { jwks_uri: "none" }]) {
      provider.metadata = wrong;
      expect(await knowsKeys()).toBe(true);
      pass(minute);
    }
    provider.metadata = {};
    provider.answers.set(discovery, (response) => response.destroy());
    for (let count = 0; count < 5; count++) expect([await knowsKeys(), asked()]).toEqual([true, 5]);

    provider.answers.clear();
    pass(minute);
    expect([await knowsKeys(), asked()]).toEqual([false, 6]);
  });

  it("is forgotten at once after a failure", async () => {
    await keep();
    const before = asked();

    memory.forgetProvider();

    expect([await knowsKeys(), asked()]).toEqual([false, before + 1]);
    memory.forgetProvider();
    provider.answers.set(discovery, (response) => response.destroy());
    await expect(memory.findProvider()).rejects.toThrow("discovery failed");
    provider.answers.clear();
  });
});
