import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { signInClientId } from "../../../infra/local/functions.ts";
import { type HostileProvider, startHostileProvider } from "../../support/hostile-provider.ts";
import { type Stack, startStack } from "../../support/stack.ts";

let provider: HostileProvider;
let stack: Stack;

beforeEach(async () => {
  provider = await startHostileProvider();
});

afterEach(async () => {
  await stack?.close();
  await provider?.close();
});

/** The status of the callback of the client with this id. */
async function signIn(clientId: string): Promise<number> {
  stack = await startStack({ signIn: provider.issuer, variables: () => ({ SIGN_IN_CLIENT_ID: clientId }) });
  const begun = await fetch(`${stack.url}/sign-in`, { redirect: "manual" });
  const state = new URL(begun.headers.get("location") ?? "").searchParams.get("state") ?? "";
  const Cookie = begun.headers.getSetCookie().map((each) => each.split(";", 1)[0]);
  const { status } = await fetch(`${stack.url}/sign-in/callback?${new URLSearchParams({ state, code: "1" })}`, {
    redirect: "manual",
    headers: { Cookie: Cookie.join("; ") },
  });
  return status;
}

/** What the client sends to the token endpoint, as user and password. */
async function credentialsOf(clientId: string): Promise<string> {
  await signIn(clientId);
  const [, credentials = ""] = /^Basic (.+)$/.exec(provider.requests.at(-1)?.authorization ?? "") ?? [];
  return atob(credentials);
}

describe("The client's authentication", () => {
  it("is the same for providers that decode it and for those that do not, such as Google", async () => {
    const id = "1047-a_b.apps.example.com~x";

    expect(await credentialsOf(id)).toMatch(new RegExp(`^${id}:[\\w-]+$`));
  });

  it("encodes what has a meaning in it", async () => {
    expect(await credentialsOf("a:b c+d%ä")).toMatch(/^a%3Ab\+c%2Bd%25%C3%A4:[\w-]+$/);
  });

  it("is logged as what is wrong, also if the provider says how it would like it", async () => {
    const printed = vi.spyOn(console, "log").mockImplementation(() => {});
    provider.answers.set("/token", (response) =>
      response
        .writeHead(401, { "Content-Type": "application/json", "WWW-Authenticate": 'Basic realm="clients"' })
        .end('{"error":"invalid_client"}'),
    );

    expect(await signIn(signInClientId)).toBe(503);
    await vi.waitFor(() => expect(printed.mock.calls.join()).toContain("the token endpoint says invalid_client"));
  });
});
