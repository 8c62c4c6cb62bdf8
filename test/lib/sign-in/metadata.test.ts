import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { signInClientId } from "../../../infra/local/functions.ts";
import { type HostileProvider, startHostileProvider } from "../../support/hostile-provider.ts";
import { aUser } from "../../support/people.ts";
import { type Stack, startStack } from "../../support/stack.ts";

let provider: HostileProvider;
let stack: Stack;

beforeEach(async () => {
  provider = await startHostileProvider();
  // Its functions have not asked the provider yet.
  stack = await startStack({ signIn: provider.issuer });
  const { id } = await aUser(stack.sql);
  await stack.sql`insert into identities (issuer, subject, user_id) values (${provider.issuer}, 'ada', ${id})`;
});

afterEach(async () => {
  await stack?.close();
  await provider?.close();
});

const begin = () => fetch(`${stack.url}/sign-in`, { redirect: "manual" });

/** The status of the callback, where the provider's ID token has these claims, too. */
async function signIn(claims: object = {}): Promise<number> {
  const begun = await begin();
  const { searchParams: query } = new URL(begun.headers.get("location") ?? "");
  const now = Math.floor(Date.now() / 1_000);
  provider.claims = {
    iss: provider.issuer,
    aud: signInClientId,
    sub: "ada",
    nonce: query.get("nonce"),
    iat: now,
    exp: now + 3_600,
    ...claims,
  };
  const answer = new URLSearchParams({ state: query.get("state") ?? "", code: "1" });
  const cookie = begun.headers.getSetCookie().map((each) => each.split(";", 1)[0]);
  const { status } = await fetch(`${stack.url}/sign-in/callback?${answer}`, {
    redirect: "manual",
    headers: { Cookie: cookie.join("; ") },
  });
  return status;
}

describe("What the provider says about itself", () => {
  it("is asked again after a document that makes no sense", async () => {
    for (const token_endpoint_auth_methods_supported of [{}, 1, false, "client_secret_basic"]) {
      provider.metadata = { token_endpoint_auth_methods_supported };
      expect((await begin()).status).toBe(503);
    }

    provider.metadata = {};
    expect((await begin()).status).toBe(302);
  });

  it("is asked again when it signs by another algorithm", async () => {
    provider.metadata = { id_token_signing_alg_values_supported: ["RS256"] };
    expect(await signIn()).toBe(400);

    provider.metadata = {};
    expect(await signIn()).toBe(302);
  });
});

describe("An ID token", () => {
  it("is for this client, if it says for which", async () => {
    for (const azp of ["another", "", null, [signInClientId]]) expect([azp, await signIn({ azp })]).toEqual([azp, 400]);

    expect(await signIn({ azp: signInClientId })).toBe(302);
  });
});
