import { PutSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { signInArns } from "../../../infra/local/stage/secrets.ts";
import { type HostileProvider, newSigner, startHostileProvider } from "../../support/hostile-provider.ts";
import { aUser, type Person } from "../../support/people.ts";
import { attemptOf, attemptsIn, begin, expectPage, openBrowser } from "../../support/sign-in.ts";
import { type Stack, startStack } from "../../support/stack.ts";
import { unchanged } from "../../support/unchanged.ts";

/* What the provider answers, right and wrong (RFC 9700, OpenID Connect Core 3.1.3). */

let provider: HostileProvider;
let stack: Stack;
let ada: Person;
let variables: Readonly<Record<string, string>> = {};
const printed = (["log", "info", "warn", "error"] as const).map((level) => vi.spyOn(console, level));

beforeAll(async () => {
  provider = await startHostileProvider();
  stack = await startStack({ signIn: provider.issuer, variables: () => variables });
  ada = await aUser(stack.sql, "Ada");
  await stack.sql`insert into identities (issuer, subject, user_id) values (${provider.issuer}, 'ada', ${ada.id})`;
});

beforeEach(() => {
  provider.answers.clear();
  provider.requests.length = 0;
  provider.metadata = {};
  for (const each of printed) each.mockReset();
});

let sign: HostileProvider["sign"];
beforeAll(() => {
  sign = provider.sign;
});
afterEach(() => {
  provider.sign = sign;
  vi.useRealTimers();
});

afterAll(async () => {
  await stack.close();
  await provider.close();
  for (const each of printed) each.mockRestore();
});

const now = () => Math.floor(Date.now() / 1000);

interface Round {
  /** Another signature than the provider's. */
  readonly signed?: HostileProvider["sign"];
  /** Claims that differ; undefined takes one away. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Parameters of the callback that differ; undefined takes one away. */
  readonly parameters?: Readonly<Record<string, string | undefined>>;
}

/** A whole round, in which something may be wrong. */
async function round(
  { claims = {}, parameters = {}, signed = sign }: Round = {},
  browser = openBrowser(),
): Promise<Response> {
  const { searchParams } = await begin(stack, browser, "/users");
  provider.sign = signed;
  provider.claims = defined({
    iss: provider.issuer,
    aud: "colophon",
    sub: "ada",
    nonce: searchParams.get("nonce") ?? "",
    iat: now(),
    exp: now() + 300,
    ...claims,
  });
  const query = defined({ code: "a-secret-code", state: searchParams.get("state") ?? "", ...parameters });
  return await browser.get(`${stack.url}/sign-in/callback?${new URLSearchParams(query as Record<string, string>)}`);
}

const defined = (fields: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

const isSignedIn = ({ status, headers }: Response) =>
  status === 302 && headers.getSetCookie().some((each) => each.startsWith("refreshToken="));

/** The lines of the log about signing in, without what differs from run to run. */
const logged = () =>
  printed
    .flatMap(({ mock }) => mock.calls)
    .map(([line]) => String(line))
    .filter((line) => line.includes('"signIn"'))
    .map((line) => JSON.parse(line));

type Answer = Parameters<HostileProvider["answers"]["set"]>[1];
const discovery = "/.well-known/openid-configuration";
const html =
  (status: number): Answer =>
  (response) =>
    response.writeHead(status, { "Content-Type": "text/html" }).end("<html>secret</html>");
const json =
  (body: unknown, status = 200): Answer =>
  (response) =>
    response
      .writeHead(status, { "Content-Type": "application/json", ...(status === 401 && { "WWW-Authenticate": "Basic" }) })
      .end(typeof body === "string" ? body : JSON.stringify(body));
const requestsTo = (path: string) => provider.requests.filter((each) => each.path === path);
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
const awaitEmail = (email: string, { id }: Person) => stack.sql`
  insert into awaited_emails (issuer, email, user_id) values (${provider.issuer}, ${email}, ${id})
`;

describe("The provider's answer", () => {
  it("signs in whom it names, and is asked with the client's secret and the proof of the attempt", async () => {
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

  it.each<[string, Round]>([
    ["another issuer's ID token", { claims: { iss: "https://other.example" } }],
    ["an ID token for another client", { claims: { aud: "other" } }],
    ["an ID token for others, too", { claims: { aud: ["colophon", "other"] } }],
    ["an ID token authorised for another client", { claims: { aud: ["colophon", "other"], azp: "other" } }],
    ["an ID token for one client, authorised for another", { claims: { azp: "other" } }],
    ["an ID token authorised for none", { claims: { azp: "" } }],
    ["an ID token that has expired", { claims: { iat: now() - 1_200, exp: now() - 600 } }],
    ["an ID token without an end", { claims: { exp: undefined } }],
    ["an ID token of the future", { claims: { nbf: now() + 600 } }],
    ["an ID token of nobody", { claims: { sub: undefined } }],
    ["an ID token of an empty name", { claims: { sub: "" } }],
    ["a subject that no database keeps", { claims: { sub: "ada\0", email: "ada@example.com" } }],
    ["half a character in the subject", { claims: { sub: "ada\ud800" } }],
    ["a subject that is too long", { claims: { sub: "a".repeat(256) } }],
    ["the nonce of another attempt", { claims: { nonce: "other" } }],
    ["no nonce", { claims: { nonce: undefined } }],
    ["no state", { parameters: { state: undefined } }],
    ["the state of another attempt", { parameters: { state: "other" } }],
    ["no code", { parameters: { code: undefined } }],
    ["the name of another provider (RFC 9207)", { parameters: { iss: "https://other.example" } }],
    ["tokens in the address", { parameters: { id_token: "a.b.c" } }],
    ["an unknown error", { parameters: { error: "a-secret-code ada@example.com" } }],
    ["an error of the provider, which anybody can write", { parameters: { error: "server_error" } }],
    ["an outage of the provider, likewise", { parameters: { code: undefined, error: "temporarily_unavailable" } }],
    ["an ID token signed by nobody", { signed: async (claims) => `${part({ alg: "none" })}.${part(claims)}.` }],
    ["an ID token signed by a stranger", { signed: async (claims) => (await newSigner()).sign(claims) }],
    ["an ID token without signature", { signed: async (claims) => (await sign(claims)).replace(/\.[^.]*$/, ".") }],
    [
      "the claims of another ID token",
      {
        async signed(claims) {
          const [head, , signature] = (await sign({ ...claims, sub: "somebody" })).split(".");
          return `${head}.${part(claims)}.${signature}`;
        },
      },
    ],
    [
      "an ID token signed with the client's secret",
      { signed: async (claims) => `${part({ alg: "HS256" })}.${part(claims)}.${part({})}` },
    ],
  ])("is 400 with %s", async (_, wrong) => {
    const browser = openBrowser();

    const response = await unchanged(stack, () => round(wrong, browser));

    await expectPage(response, 400, "Signing in did not work");
    // Only who comes back with another state leaves the attempt as it is.
    expect(attemptsIn(browser)).toHaveLength(wrong.parameters && "state" in wrong.parameters ? 1 : 0);
    expect(browser.cookies.has("refreshToken")).toBe(false);
    expect(logged()).toMatchObject([{ level: "warn", status: 400, signIn: "invalid", endpoint: "sign-in-callback" }]);
    expect(JSON.stringify(logged())).not.toMatch(/secret|ada@|other\.example/);
  });

  it("is 400 with a parameter that comes twice", async () => {
    for (const name of ["state", "code", "iss", "error", "response"]) {
      const browser = openBrowser();
      const state = (await begin(stack, browser)).searchParams.get("state") ?? "";
      const query = new URLSearchParams({ code: "c", state });
      query.append(name, state);
      if (!["state", "code"].includes(name)) query.append(name, provider.issuer);

      await expectPage(await browser.get(`${stack.url}/sign-in/callback?${query}`), 400, "Signing in did not work");
    }
  });

  it("is 403 where somebody does not want to sign in after all", async () => {
    const response = await round({ parameters: { code: undefined, error: "access_denied" } });

    await expectPage(response, 403, "You are not signed in");
    expect(logged()).toMatchObject([{ signIn: "denied", reason: "the address says access_denied" }]);
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

  it("is asked for the address where the ID token has none", async () => {
    await awaitEmail("hedy@example.com", await aUser(stack.sql, "Hedy"));
    provider.metadata = { userinfo_endpoint: `${provider.issuer}/me` };
    provider.answers.set("/me", json({ sub: "hedy", email: "hedy@example.com", email_verified: true }));
    await stack.lambda.renew();

    expect((await round({ claims: { sub: "hedy" } })).status).toBe(302);
    // For another user it is worthless.
    expect((await round({ claims: { sub: "ada" } })).status).toBe(400);
    await stack.lambda.renew();
  });

  it.each([
    [-120, 60],
    [120, 300],
  ])("may come from a clock that is %i s off", async (seconds, lifetime) => {
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

  it("opens one session, however often it comes back", async () => {
    const browser = openBrowser();
    const { searchParams } = await begin(stack, browser);
    const query = new URLSearchParams({ code: "c", state: searchParams.get("state") ?? "" });
    const nonce = searchParams.get("nonce") ?? "";
    provider.claims = { iss: provider.issuer, aud: "colophon", sub: "ada", nonce, iat: now(), exp: now() + 300 };
    const name = attemptOf(browser);
    const cookie = browser.cookies.get(name) ?? "";
    const first = await browser.get(`${stack.url}/sign-in/callback?${query}`);
    browser.cookies.set(name, cookie);

    const replayed = await unchanged(stack, () => browser.get(`${stack.url}/sign-in/callback?${query}`));

    expect(isSignedIn(first)).toBe(true);
    await expectPage(replayed, 400, "Signing in did not work");
  });
});

describe("A provider", () => {
  afterEach(async () => {
    variables = {};
    await stack.lambda.renew();
  });

  it.each<[string, Answer]>([
    ["is down", (response) => response.destroy()],
    ["fails", html(500)],
    ["answers with a page", html(200)],
    ["answers with half an answer", json('{"issuer":')],
    ["names another issuer", json({ issuer: "https://other.example" })],
    ["has no addresses", json({})],
    ["answers without end", json(" ".repeat(1_000_001))],
    ["does not answer", () => {}],
  ])("that %s at the beginning makes it 503, keeps sessions, and is asked again", async (_, answer) => {
    await stack.lambda.renew();
    provider.answers.set(discovery, answer);

    const response = await openBrowser().get(`${stack.url}/sign-in`);

    await expectPage(response, 503, "Signing in is not available");
    expect(logged()).toMatchObject([{ level: "error", status: 503, signIn: "unavailable" }]);
    expect(JSON.stringify(logged())).not.toContain("secret");
    expect((await stack.call("session", { as: ada.token })).status).toBe(200);
    provider.answers.clear();
    for (const token_endpoint_auth_methods_supported of [{}, 1, false, "client_secret_basic", undefined]) {
      provider.metadata = { token_endpoint_auth_methods_supported };
      const { status } = await openBrowser().get(`${stack.url}/sign-in`);
      expect(status).toBe(token_endpoint_auth_methods_supported === undefined ? 302 : 503);
    }
  });

  it.each<[string, string, Answer]>([
    ["is down at the token endpoint", "/token", (response) => response.destroy()],
    ["fails at the token endpoint", "/token", html(502)],
    ["answers the token request with a page", "/token", html(200)],
    ["has nothing in its answer to the token request", "/token", json({})],
    ["does not answer the token request", "/token", () => {}],
    ["does not accept the secret", "/token", json({ error: "invalid_client" }, 401)],
    ["is down where its keys are", "/keys", (response) => response.destroy()],
    ["has a page where its keys are", "/keys", html(200)],
    ["has no keys", "/keys", json({})],
    ["does not answer where its keys are", "/keys", () => {}],
    [
      "sends its client elsewhere",
      "/token",
      (response) => response.writeHead(307, { Location: `${provider.issuer}/stolen` }).end(),
    ],
  ])("that %s makes the callback 503, and the next one goes well", async (name, path, answer) => {
    provider.answers.set(path, answer);
    const browser = openBrowser();

    const response = await unchanged(stack, () => round({}, browser));

    await expectPage(response, 503, "Signing in is not available");
    expect(attemptsIn(browser)).toHaveLength(1);
    const reason = expect.stringContaining(name.endsWith("the secret") ? "invalid_client" : "");
    expect(logged()).toMatchObject([{ level: "error", status: 503, signIn: "unavailable", reason }]);
    expect(JSON.stringify(logged())).not.toContain("secret");
    expect(requestsTo("/stolen")).toEqual([]);
    provider.answers.clear();
    expect(isSignedIn(await round())).toBe(true);
  });

  it.each(["invalid_grant", "invalid_request"])("that refuses the code by %s makes it 400", async (error) => {
    provider.answers.set("/token", json({ error }, 400));

    await expectPage(await round(), 400, "Signing in did not work");
    await expectPage(await round(), 400, "Signing in did not work");
    // An invented code has nothing else asked again.
    expect(requestsTo(discovery)).toHaveLength(2);
  });

  it("is asked for tokens once an attempt, whatever codes come back with it", async () => {
    const browser = openBrowser();
    const { searchParams } = await begin(stack, browser);
    const Cookie = `${attemptOf(browser)}=${browser.cookies.get(attemptOf(browser))}`;
    const comeBack = (_: unknown, number: number) => {
      const query = new URLSearchParams({ code: `invented-${number}`, state: searchParams.get("state") ?? "" });
      return openBrowser().get(`${stack.url}/sign-in/callback?${query}`, { Cookie });
    };

    const responses = await Promise.all(Array.from({ length: 40 }, comeBack));

    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([400]));
    expect(requestsTo("/token")).toHaveLength(1);
  });

  it.each([
    ["as it is, for those that do not decode it, such as Google", "1047-a_b.apps.example.com~x"],
    ["encoded where something has a meaning", "a:b c+d%ä", "a%3Ab+c%2Bd%25%C3%A4"],
  ])("gets the client's id %s", async (_, clientId, sent = clientId) => {
    variables = { SIGN_IN_CLIENT_ID: clientId };
    await stack.lambda.renew();

    await round();

    const credentials = atob(requestsTo("/token")[0]?.authorization.replace("Basic ", "") ?? "");
    expect(credentials.replace(/:[\w-]+$/, "")).toBe(sent);
  });
});

describe("What an environment knows", () => {
  const minute = 60_000;

  beforeAll(() => {
    vi.stubEnv("SIGN_IN_ISSUER", provider.issuer);
    vi.stubEnv("SIGN_IN_CLIENT_ID", "colophon");
  });
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
  afterAll(() => vi.unstubAllEnvs());
  const pass = (milliseconds: number) => vi.setSystemTime(Date.now() + milliseconds);

  it("of the provider counts for an hour, or as long as it does not answer", async () => {
    const { findProvider, forgetProvider } = await import("../../../lib/sign-in/provider.ts");
    const asked = async () => {
      await findProvider();
      return requestsTo(discovery).length;
    };

    expect(await asked()).toBe(1);
    pass(60 * minute - 1);
    expect(await asked()).toBe(1);
    pass(1);
    expect(await asked()).toBe(2);
    forgetProvider();
    provider.answers.set(discovery, (response) => response.destroy());
    for (let count = 0; count < 3; count++) expect(await asked()).toBe(3);
    pass(minute);
    expect(await asked()).toBe(4);
    provider.answers.clear();
    pass(minute);
    expect([await asked(), await asked()]).toEqual([5, 5]);
  });

  it("of a secret counts for five minutes, or until it is refused", async () => {
    const { forgetSecret, readSecret } = await import("../../../lib/sign-in/secrets.ts");
    const put = (SecretString: string) =>
      new SecretsManagerClient().send(new PutSecretValueCommand({ SecretId: signInArns.client, SecretString }));
    const read = () => readSecret(signInArns.client, performance.now() + 10_000);
    await put("first\n");
    expect(await read()).toBe("first");
    await put("second");

    pass(5 * minute - 1);
    expect(await read()).toBe("first");
    pass(1);
    expect(await read()).toBe("second");
    await put("third");
    forgetSecret(signInArns.client);
    expect(await read()).toBe("third");
  });
});
