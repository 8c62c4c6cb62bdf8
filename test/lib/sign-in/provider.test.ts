import { PutSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { signInArns } from "../../../infra/local/stage/secrets.ts";
import {
  bindingIn,
  comeBack,
  type HostileProvider,
  type HostileStack,
  newSigner,
  type Responder,
  startHostileStack,
} from "../../support/hostile-provider.ts";
import { aUser, type Person } from "../../support/people.ts";
import { attemptsIn, begin, expectPage, locationOf, openBrowser } from "../../support/sign-in.ts";
import type { Stack } from "../../support/stack.ts";
import { unchanged } from "../../support/unchanged.ts";

/* Responses of the provider, right and wrong (RFC 9700, OpenID Connect Core 3.1.3). */

let hostile: HostileStack;
let provider: HostileProvider;
let stack: Stack;
let sign: HostileProvider["sign"];
let variables: Readonly<Record<string, string>> = {};
const printed = (["log", "info", "warn", "error"] as const).map((level) => vi.spyOn(console, level));

beforeAll(async () => {
  hostile = await startHostileStack({ variables: () => variables });
  ({ provider, stack } = hostile);
  ({ sign } = provider);
});

beforeEach(() => {
  provider.responses.clear();
  provider.requests.length = 0;
  provider.metadata = {};
  for (const each of printed) each.mockReset();
});

afterEach(() => {
  provider.sign = sign;
  vi.useRealTimers();
});

afterAll(async () => {
  await hostile.close();
  for (const each of printed) each.mockRestore();
});

const now = () => Math.floor(Date.now() / 1000);

/** What may be wrong with a sign-in. */
interface Lie {
  /** Another signature than the provider's. */
  readonly signed?: HostileProvider["sign"];
  /** Claims that differ; undefined removes one. */
  readonly claims?: object;
  /** Parameters of the callback that differ; undefined removes one. */
  readonly parameters?: object;
  /** Responses by path. */
  readonly responses?: Readonly<Record<string, Responder>>;
  /** What the discovery document says. */
  readonly metadata?: object;
}

/** A whole sign-in. Returns the last response, which is the first one if that does not lead to the provider. */
async function round(lie: Lie = {}, browser = openBrowser()): Promise<Response> {
  const { claims, parameters, signed = sign, responses = {}, metadata = provider.metadata } = lie;
  for (const [path, respond] of Object.entries(responses)) provider.responses.set(path, respond);
  provider.metadata = metadata;
  provider.sign = signed;
  const started = await browser.get(`${stack.url}/sign-in?to=/users`);
  if (started.status !== 302) return started;
  return await comeBack(hostile, browser, bindingIn(locationOf(started)), claims, parameters);
}

const isSignedIn = ({ status, headers }: Response) =>
  status === 302 && headers.getSetCookie().some((each) => each.startsWith("refreshToken="));

/** The lines of the log about signing in, without what differs from run to run. */
const logged = () =>
  printed
    .flatMap(({ mock }) => mock.calls)
    .map(([line]) => String(line))
    .filter((line) => line.includes('"signIn"'))
    .map((line) => JSON.parse(line));

const discovery = "/.well-known/openid-configuration";
const html =
  (status: number): Responder =>
  (response) =>
    response.writeHead(status, { "Content-Type": "text/html" }).end("<html>secret</html>");
const json =
  (body: unknown, status = 200): Responder =>
  (response) =>
    response
      .writeHead(status, { "Content-Type": "application/json", ...(status === 401 && { "WWW-Authenticate": "Basic" }) })
      .end(typeof body === "string" ? body : JSON.stringify(body));
const requestsTo = (path: string) => provider.requests.filter((each) => each.path === path);
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
const awaitEmail = (email: string, { id }: Person) => stack.sql`
  insert into awaited_emails (issuer, email, user_id) values (${provider.issuer}, ${email}, ${id})
`;

const discovers = (respond: Responder): Lie => ({ responses: { [discovery]: respond } });
const hasKeys = (respond: Responder): Lie => ({ responses: { "/keys": respond } });
const returnsTokens = (respond: Responder): Lie => ({ responses: { "/token": respond } });
const breaks: Responder = (response) => response.destroy();
const hangs: Responder = () => {};
const redirects: Responder = (response) => response.writeHead(307, { Location: `${provider.issuer}/stolen` }).end();
const unsigned = (head: object, claims: object, signature = "") => `${part(head)}.${part(claims)}.${signature}`;

const outcomes = {
  400: ["Signing in did not work", "invalid", "warn"],
  403: ["You are not signed in", "denied", "warn"],
  503: ["Signing in is not available", "unavailable", "error"],
} as const;

/** By the status of the response: what the provider returns, and in which part of it that is. */
const lies: Readonly<Record<keyof typeof outcomes, Readonly<Record<string, Lie>>>> = {
  400: {
    "another issuer's ID token": { claims: { iss: "https://other.example" } },
    "an ID token for another client": { claims: { aud: "other" } },
    "an ID token for others, too": { claims: { aud: ["colophon", "other"] } },
    "an ID token for one client, authorised for another": { claims: { azp: "other" } },
    "an ID token authorised for none": { claims: { azp: "" } },
    "an ID token that has expired": { claims: { iat: now() - 1_200, exp: now() - 600 } },
    "an ID token without an end": { claims: { exp: undefined } },
    "an ID token of the future": { claims: { nbf: now() + 600 } },
    "an ID token without a subject": { claims: { sub: undefined } },
    "an empty subject": { claims: { sub: "" } },
    "a subject that no database keeps": { claims: { sub: "ada\0", email: "ada@example.com" } },
    "a subject that is too long": { claims: { sub: "a".repeat(256) } },
    "the nonce of another attempt": { claims: { nonce: "other" } },
    "no nonce": { claims: { nonce: undefined } },
    "no state": { parameters: { state: undefined } },
    "the state of another attempt": { parameters: { state: "other" } },
    "no code": { parameters: { code: undefined } },
    "the name of another provider (RFC 9207)": { parameters: { iss: "https://other.example" } },
    "tokens in the address": { parameters: { id_token: "a.b.c" } },
    "an unknown error": { parameters: { error: "a-secret-code ada@example.com" } },
    "an error of the provider, which anybody can write": { parameters: { error: "server_error" } },
    "an ID token without an algorithm": { signed: async (claims) => unsigned({ alg: "none" }, claims) },
    "an ID token signed by a stranger": { signed: async (claims) => (await newSigner()).sign(claims) },
    "an ID token without signature": { signed: async (claims) => (await sign(claims)).replace(/\.[^.]*$/, ".") },
    "a signature by a secret": { signed: async (claims) => unsigned({ alg: "HS256" }, claims, part({})) },
    "a code that it does not know": returnsTokens(json({ error: "invalid_grant" }, 400)),
    "a code that it cannot read": returnsTokens(json({ error: "invalid_request" }, 400)),
  },
  403: {
    "a person who cancels": { parameters: { code: undefined, error: "access_denied" } },
  },
  503: {
    "a connection for tokens that breaks": returnsTokens(breaks),
    "a failure for tokens": returnsTokens(html(502)),
    "a page for tokens": returnsTokens(html(200)),
    "nothing for tokens": returnsTokens(json({})),
    "no response for tokens": returnsTokens(hangs),
    "a refusal of the client's credentials": returnsTokens(json({ error: "invalid_client" }, 401)),
    "a redirect for tokens": returnsTokens(redirects),
    "a connection for keys that breaks": hasKeys(breaks),
    "a page for keys": hasKeys(html(200)),
    "no keys": hasKeys(json({})),
    "a connection that breaks at the beginning": discovers(breaks),
    "a page at the beginning": discovers(html(200)),
    "another issuer at the beginning": discovers(json({ issuer: "https://other.example" })),
    "no addresses at the beginning": discovers(json({})),
    "an endless document at the beginning": discovers(json(" ".repeat(1_000_001))),
    "no response at the beginning": discovers(hangs),
    "a text as its methods": { metadata: { token_endpoint_auth_methods_supported: "client_secret_basic" } },
  },
};

describe("The provider's response", () => {
  it("signs in whom it names, and gets the client's secret and the proof of the attempt", async () => {
    const response = await round();

    expect(isSignedIn(response)).toBe(true);
    expect(response.headers.get("location")).toBe("https://panel.example.com/users");
    const [token] = requestsTo("/token");
    expect(Object.fromEntries(new URLSearchParams(token?.body))).toEqual({
      grant_type: "authorization_code",
      code: "a-secret-code",
      redirect_uri: `${stack.url}/sign-in/callback`,
      code_verifier: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(atob(token?.authorization.replace("Basic ", "") ?? "")).toMatch(/^colophon:.{40,}/);
    expect(logged()).toEqual([]);
  });

  const told = ([400, 403, 503] as const).flatMap((status) =>
    Object.entries(lies[status]).map(([what, lie]) => ({ status, what, lie })),
  );

  it.each(told)("is $status with $what", async ({ status, lie }) => {
    const { responses = {}, metadata, parameters = {} } = lie;
    const isFirst = metadata !== undefined || discovery in responses;
    // Environments that know nothing of the provider yet.
    if (isFirst || "/keys" in responses) await stack.lambda.renew();
    const browser = openBrowser();

    const response = await unchanged(stack, () => round(lie, browser));

    const [title, signIn, level] = outcomes[status];
    await expectPage(response, status, title);
    // The attempt stays after a failure of the provider, and if another state comes back.
    const isKept = (status === 503 && !isFirst) || "state" in parameters;
    expect(attemptsIn(browser)).toHaveLength(isKept ? 1 : 0);
    expect(browser.cookies.has("refreshToken")).toBe(false);
    expect(logged()).toMatchObject([
      { level, status, signIn, endpoint: isFirst ? "sign-in-begin" : "sign-in-callback" },
    ]);
    expect(JSON.stringify(logged())).not.toMatch(/secret|ada@|other\.example/);
    expect(requestsTo("/stolen")).toEqual([]);
    expect((await stack.call("session", { as: hostile.ada.token })).status).toBe(200);
    provider.responses.clear();
    provider.metadata = {};
    expect(isSignedIn(await round())).toBe(true);
  });

  it("is 400 with a parameter that comes twice", async () => {
    for (const name of ["state", "code", "iss", "error", "response"]) {
      const browser = openBrowser();
      const { state } = bindingIn(await begin(stack, browser));
      const query = new URLSearchParams({ code: "c", state });
      query.append(name, state);
      if (!["state", "code"].includes(name)) query.append(name, provider.issuer);

      await expectPage(await browser.get(`${stack.url}/sign-in/callback?${query}`), 400, "Signing in did not work");
    }
  });

  it("links a user whose address is awaited only if the provider has verified it", async () => {
    const grace = await aUser(stack.sql, "Grace");
    await awaitEmail("grace@example.com", grace);
    const claims = { sub: "grace", email: "grace@example.com" };

    for (const email_verified of [undefined, false, "true", 1])
      await expectPage(await round({ claims: { ...claims, email_verified } }), 403, "You are not signed in");
    for (const email of ["grace@example.com\0", "grace@example.com\ud800", "grace@example\n.com"])
      expect((await round({ claims: { ...claims, email, email_verified: true } })).status).toBe(403);
    expect(JSON.stringify(logged())).not.toContain("grace@");
    expect((await round({ claims: { ...claims, email_verified: true } })).status).toBe(302);

    expect(await stack.sql`select subject from identities where user_id = ${grace.id}`).toEqual([{ subject: "grace" }]);
  });

  it("returns the address from its userinfo where the ID token has none", async () => {
    await awaitEmail("hedy@example.com", await aUser(stack.sql, "Hedy"));
    provider.metadata = { userinfo_endpoint: `${provider.issuer}/me` };
    provider.responses.set("/me", json({ sub: "hedy", email: "hedy@example.com", email_verified: true }));
    await stack.lambda.renew();

    expect((await round({ claims: { sub: "hedy" } })).status).toBe(302);
    // For another user it is worthless.
    expect((await round({ claims: { sub: "ada" } })).status).toBe(400);
    await stack.lambda.renew();
  });

  it.each([
    { seconds: -120, lifetime: 60 },
    { seconds: 120, lifetime: 300 },
  ])("may come from a clock that is $seconds s off", async ({ seconds, lifetime }) => {
    const iat = now() + seconds;

    expect(isSignedIn(await round({ claims: { iat, nbf: iat, exp: iat + lifetime, azp: "colophon" } }))).toBe(true);
  });

  it("is verified with keys that are fetched once, and again after one that is not known by name or signature", async () => {
    await stack.lambda.renew();
    for (let each = 0; each < 3; each++) expect(isSignedIn(await round())).toBe(true);
    expect([requestsTo("/keys").length, requestsTo(discovery).length]).toEqual([1, 2]);

    for (const name of ["a new name", "the same name"] as const) {
      await provider.rotate(name);
      expect((await round()).status).toBe(400);
      expect(isSignedIn(await round())).toBe(true);
    }

    // A code counts once: it is not exchanged again for the sake of a key.
    expect([requestsTo("/keys").length, requestsTo("/token").length]).toEqual([3, 7]);
    provider.metadata = { id_token_signing_alg_values_supported: ["RS256"] };
    await stack.lambda.renew();
    expect((await round()).status).toBe(400);
    provider.metadata = {};
    expect(isSignedIn(await round())).toBe(true);
  });
});

describe("A provider", () => {
  it("gets no other request again after an invented code", async () => {
    await stack.lambda.renew();
    for (let each = 0; each < 3; each++)
      expect((await round(returnsTokens(json({ error: "invalid_grant" }, 400)))).status).toBe(400);

    expect(requestsTo(discovery)).toHaveLength(2);
  });

  it("gets one request for tokens an attempt, and opens one session, whatever codes come back with it", async () => {
    const browser = openBrowser();
    const binding = bindingIn(await begin(stack, browser));
    const cookies = [...browser.cookies];
    const comeBackAgain = (number: number) => {
      const again = openBrowser();
      for (const [name, value] of cookies) again.cookies.set(name, value);
      return comeBack(hostile, again, binding, {}, { code: `code-${number}` });
    };

    const responses = await Promise.all(Array.from({ length: 40 }, (_, number) => comeBackAgain(number)));
    const late = await unchanged(stack, () => comeBackAgain(0));

    expect(responses.filter(isSignedIn)).toHaveLength(1);
    for (const each of [...responses, late].filter((response) => !isSignedIn(response)))
      await expectPage(each, 400, "Signing in did not work");
    expect(requestsTo("/token")).toHaveLength(1);
  });

  it.each([
    { how: "as it is, for those that do not decode it, such as Google", clientId: "1047-a_b.apps.example.com~x" },
    { how: "encoded where something has a meaning", clientId: "a:b c+d%ä", sent: "a%3Ab+c%2Bd%25%C3%A4" },
  ])("gets the client's id $how", async ({ clientId, sent = clientId }) => {
    variables = { SIGN_IN_CLIENT_ID: clientId };
    await stack.lambda.renew();

    await round();

    variables = {};
    await stack.lambda.renew();
    const credentials = atob(requestsTo("/token")[0]?.authorization.replace("Basic ", "") ?? "");
    expect(credentials.replace(/:[\w-]+$/, "")).toBe(sent);
  });
});

describe("What an environment knows", () => {
  const minute = 60_000;
  const pass = (milliseconds: number) => vi.setSystemTime(Date.now() + milliseconds);

  beforeAll(() => {
    vi.stubEnv("SIGN_IN_ISSUER", provider.issuer);
    vi.stubEnv("SIGN_IN_CLIENT_ID", "colophon");
  });
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
  afterAll(() => vi.unstubAllEnvs());

  it("of the provider counts for an hour, or as long as it does not respond", async () => {
    const { findProvider, forgetProvider } = await import("../../../lib/sign-in/provider.ts");
    const discoveries = async () => {
      await findProvider();
      return requestsTo(discovery).length;
    };

    expect(await discoveries()).toBe(1);
    pass(60 * minute - 1);
    expect(await discoveries()).toBe(1);
    pass(1);
    expect(await discoveries()).toBe(2);
    forgetProvider();
    provider.responses.set(discovery, breaks);
    for (let count = 0; count < 3; count++) expect(await discoveries()).toBe(3);
    pass(minute);
    expect(await discoveries()).toBe(4);
    provider.responses.clear();
    pass(minute);
    expect([await discoveries(), await discoveries()]).toEqual([5, 5]);
  });

  it("of a secret counts for five minutes, or until it is refused", async () => {
    const { forgetSecret, readSecret } = await import("../../../lib/sign-in/secrets.ts");
    const SecretId = signInArns.client;
    const put = (SecretString: string) =>
      new SecretsManagerClient().send(new PutSecretValueCommand({ SecretId, SecretString }));
    const read = () => readSecret(SecretId, performance.now() + 10_000);
    await put("first\n");
    expect(await read()).toBe("first");
    await put("second");

    pass(5 * minute - 1);
    expect(await read()).toBe("first");
    pass(1);
    expect(await read()).toBe("second");
    await put("third");
    forgetSecret(SecretId);
    expect(await read()).toBe("third");
  });
});
