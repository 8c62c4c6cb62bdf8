import { afterEach, describe, expect, it } from "vitest";
import { type HostileProvider, startHostileProvider } from "../../support/hostile-provider.ts";
import { type Stack, startStack } from "../../support/stack.ts";

let provider: HostileProvider;
let stack: Stack;

afterEach(async () => {
  await stack?.close();
  await provider?.close();
});

/** What the client of this id sends to the token endpoint, as user and password. */
async function credentialsOf(clientId: string): Promise<string> {
  provider = await startHostileProvider();
  stack = await startStack({ signIn: provider.issuer, variables: () => ({ SIGN_IN_CLIENT_ID: clientId }) });
  const begun = await fetch(`${stack.url}/sign-in`, { redirect: "manual" });
  const state = new URL(begun.headers.get("location") ?? "").searchParams.get("state") ?? "";
  const Cookie = begun.headers.getSetCookie().map((each) => each.split(";", 1)[0]);
  await fetch(`${stack.url}/sign-in/callback?${new URLSearchParams({ state, code: "1" })}`, {
    redirect: "manual",
    headers: { Cookie: Cookie.join("; ") },
  });
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
});
