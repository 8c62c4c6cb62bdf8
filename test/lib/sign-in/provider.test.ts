import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type HostileProvider, newSigner, startHostileProvider } from "../../support/hostile-provider.ts";
import { aUser, type Person } from "../../support/people.ts";
import { attemptOf, attemptsIn, begin, expectPage, openBrowser } from "../../support/sign-in.ts";
import { type Stack, startStack } from "../../support/stack.ts";
import { unchanged } from "../../support/unchanged.ts";

/* What the provider answers, right and wrong (RFC 9700, OpenID Connect Core 3.1.3). */

let provider: HostileProvider;
let stack: Stack;
let ada: Person;
const printed = (["log", "info", "warn", "error"] as const).map((level) => vi.spyOn(console, level));

beforeAll(async () => {
  provider = await startHostileProvider();
  stack = await startStack({ signIn: provider.issuer });
  ada = await aUser(stack.sql, "Ada");
  await stack.sql`insert into identities (issuer, subject, user_id) values (${provider.issuer}, 'ada', ${ada.id})`;
});

beforeEach(() => {
  provider.answers.clear();
  provider.requests.length = 0;
  provider.metadata = {};
  for (const each of printed) each.mockReset();
});

const usual = () => provider.sign;
let sign: HostileProvider["sign"];
beforeAll(() => {
  sign = usual();
});
afterEach(() => {
  provider.sign = sign;
});

afterAll(async () => {
  await stack.close();
  await provider.close();
  for (const each of printed) each.mockRestore();
});

const now = () => Math.floor(Date.now() / 1000);

interface Round {
  /** Claims that differ; undefined takes one away. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Parameters of the callback that differ; undefined takes one away. */
  readonly parameters?: Readonly<Record<string, string | undefined>>;
}

/** A whole round, in which something may be wrong. */
async function round({ claims = {}, parameters = {} }: Round = {}, browser = openBrowser()): Promise<Response> {
  const { searchParams } = await begin(stack, browser, "/users");
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

describe("The provider's answer", () => {
  it("signs in whom it names, and is asked with the client's secret and the proof of the attempt", async () => {
    const response = await round();

    expect(isSignedIn(response)).toBe(true);
    expect(response.headers.get("location")).toBe("https://panel.example.com/users");
    const token = provider.requests.find(({ path }) => path === "/token");
    const body = Object.fromEntries(new URLSearchParams(token?.body));
    expect(body).toEqual({
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
  ])("is 400 with %s", async (_, wrong) => {
    const browser = openBrowser();

    const response = await unchanged(stack, () => round(wrong, browser));

    await expectPage(response, 400, "Signing in did not work");
    // Only who comes back with another state leaves the attempt as it is.
    expect(attemptsIn(browser)).toHaveLength(wrong.parameters && "state" in wrong.parameters ? 1 : 0);
    expect(browser.cookies.has("refreshToken")).toBe(false);
    expect(logged()).toMatchObject([{ level: "warn", status: 400, signIn: "failed", endpoint: "sign-in-callback" }]);
    expect(JSON.stringify(logged())).not.toMatch(/secret|ada@|other\.example/);
  });

  it("is 400 with a parameter that comes twice", async () => {
    const { searchParams } = await begin(stack, openBrowser());
    for (const name of ["state", "code", "iss", "error", "response"]) {
      const browser = openBrowser();
      const address = await begin(stack, browser);
      const query = new URLSearchParams({ code: "c", state: address.searchParams.get("state") ?? "" });
      query.append(name, searchParams.get("state") ?? "");
      if (!["state", "code"].includes(name)) query.append(name, provider.issuer);

      await expectPage(await browser.get(`${stack.url}/sign-in/callback?${query}`), 400, "Signing in did not work");
    }
  });

  it("is 400 where the ID token is signed by nobody, by a stranger, or with the client's secret", async () => {
    const stranger = await newSigner();
    const keys = (await (await fetch(`${provider.issuer}/keys`)).json()) as { keys: { kid: string }[] };
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    for (const [name, wrong] of Object.entries<HostileProvider["sign"]>({
      none: async (claims) => `${part({ alg: "none" })}.${part(claims)}.`,
      "unknown key": (claims) => stranger.sign(claims),
      "another key under a known name": (claims) => stranger.signAs(keys.keys[0]?.kid ?? "", claims),
      "no signature": async (claims) => (await sign(claims)).replace(/\.[^.]*$/, "."),
      "claims of another token": async (claims) => {
        const [head, , signature] = (await sign({ ...claims, sub: "somebody" })).split(".");
        return `${head}.${part(claims)}.${signature}`;
      },
      symmetric: async (claims) => `${part({ alg: "HS256" })}.${part(claims)}.${part({})}`,
    })) {
      provider.sign = wrong;

      const response = await unchanged(stack, () => round());

      expect([name, response.status, isSignedIn(response)]).toEqual([name, 400, false]);
    }
  });

  it("is 403 where somebody does not want to sign in after all", async () => {
    const response = await round({ parameters: { code: undefined, error: "access_denied" } });

    await expectPage(response, 403, "You are not signed in");
    expect(logged()).toMatchObject([{ signIn: "refused", reason: "the address says access_denied" }]);
  });

  it("links a user whose address is awaited only if the provider has verified it", async () => {
    const await_ = (email: string, id: number) => stack.sql`
      insert into awaited_emails (issuer, email, user_id) values (${provider.issuer}, ${email}, ${id})
    `;
    const grace = await aUser(stack.sql, "Grace");
    await await_("grace@example.com", grace.id);
    const claims = { sub: "grace", email: "grace@example.com" };

    for (const email_verified of [undefined, false, "true", 1])
      await expectPage(await round({ claims: { ...claims, email_verified } }), 403, "This account is not known here");
    const { status } = await round({ claims: { ...claims, email_verified: true } });

    expect(status).toBe(302);
    expect(await stack.sql`select subject from identities where user_id = ${grace.id}`).toEqual([{ subject: "grace" }]);
  });

  it("is believed no address that could not be one, and the log has nothing of it", async () => {
    for (const email of ["ada@example.com\0", "ada@example.com\ud800", "ada@example\n.com"]) {
      const response = await round({ claims: { sub: "stranger", email, email_verified: true } });
      await expectPage(response, 403, "This account is not known here");
    }
    expect(JSON.stringify(logged())).not.toContain("ada@");
  });

  it("is asked for the address where the ID token has none", async () => {
    const hedy = await aUser(stack.sql, "Hedy");
    await stack.sql`
      insert into awaited_emails (issuer, email, user_id) values (${provider.issuer}, 'hedy@example.com', ${hedy.id})
    `;
    provider.metadata = { userinfo_endpoint: `${provider.issuer}/me` };
    provider.answers.set("/me", (response) =>
      response
        .writeHead(200, { "Content-Type": "application/json" })
        .end(JSON.stringify({ sub: "hedy", email: "hedy@example.com", email_verified: true })),
    );
    await stack.lambda.renew();

    expect((await round({ claims: { sub: "hedy" } })).status).toBe(302);
    // Of somebody else it is worth nothing.
    expect((await round({ claims: { sub: "ada" } })).status).toBe(400);
    await stack.lambda.renew();
  });

  it.each([
    [-120, 60],
    [120, 300],
  ])("may come from a clock that is %i s off", async (seconds, lifetime) => {
    const iat = now() + seconds;

    expect(isSignedIn(await round({ claims: { iat, nbf: iat, exp: iat + lifetime } }))).toBe(true);
  });

  it("is verified with keys that are fetched once, and again when an unknown one comes", async () => {
    await stack.lambda.renew();
    const asked = (path: string) => provider.requests.filter((each) => each.path === path).length;
    const signIns = async (count: number) => {
      for (let each = 0; each < count; each++) expect(isSignedIn(await round())).toBe(true);
    };

    await signIns(3);
    expect(asked("/keys")).toBe(1);

    await provider.rotate();
    await signIns(3);
    expect(asked("/keys")).toBe(2);
    // A code counts once: it is not exchanged again for the sake of a key.
    expect(asked("/token")).toBe(6);
    expect(asked("/.well-known/openid-configuration")).toBe(2);
  });

  it("has the keys fetched for an unknown key no more than every few seconds", async () => {
    await stack.lambda.renew();
    const stranger = await newSigner();
    expect(isSignedIn(await round())).toBe(true);
    provider.sign = (claims) => stranger.sign(claims);

    for (let each = 0; each < 5; each++) expect((await round()).status).toBe(400);
    provider.sign = sign;

    expect(isSignedIn(await round())).toBe(true);
    expect(provider.requests.filter(({ path }) => path === "/keys").length).toBeLessThan(5);
    await stack.lambda.renew();
  });

  it("may be signed with a new key under a former name, after one that is refused", async () => {
    expect(isSignedIn(await round())).toBe(true);
    await provider.rotate("the same name");

    expect((await round()).status).toBe(400);
    expect(isSignedIn(await round())).toBe(true);
  });

  it("opens one session, however often it comes back", async () => {
    const browser = openBrowser();
    const first = await round({}, browser);
    const again = openBrowser();
    const { searchParams } = await begin(stack, again);
    const address = `${stack.url}/sign-in/callback?${new URLSearchParams({ code: "c", state: searchParams.get("state") ?? "" })}`;
    provider.claims = { ...provider.claims, nonce: searchParams.get("nonce") ?? "" };
    const name = attemptOf(again);
    const cookie = again.cookies.get(name) ?? "";
    const second = await again.get(address);
    again.cookies.set(name, cookie);

    const replayed = await unchanged(stack, () => again.get(address));

    expect([isSignedIn(first), isSignedIn(second), isSignedIn(replayed)]).toEqual([true, true, false]);
    await expectPage(replayed, 400, "Signing in did not work");
  });
});

const html: (status: number) => Parameters<HostileProvider["answers"]["set"]>[1] = (status) => (response) =>
  response.writeHead(status, { "Content-Type": "text/html" }).end("<html>secret</html>");
const body = (text: string) => (response: Parameters<ReturnType<typeof html>>[0]) =>
  response.writeHead(200, { "Content-Type": "application/json" }).end(text);

describe("A provider", () => {
  afterEach(() => stack.lambda.renew());

  it.each<[string, string, Parameters<HostileProvider["answers"]["set"]>[1]]>([
    ["is down", "/.well-known/openid-configuration", (response) => response.destroy()],
    ["fails", "/.well-known/openid-configuration", html(500)],
    ["answers with a page", "/.well-known/openid-configuration", html(200)],
    ["answers with half an answer", "/.well-known/openid-configuration", body('{"issuer":')],
    ["names another issuer", "/.well-known/openid-configuration", body('{"issuer":"https://other.example"}')],
    ["has no addresses", "/.well-known/openid-configuration", body("{}")],
    ["answers without end", "/.well-known/openid-configuration", body(" ".repeat(1_000_001))],
    ["does not answer", "/.well-known/openid-configuration", () => {}],
  ])("that %s at the beginning makes it 503, keeps sessions, and is asked again", async (_, path, answer) => {
    await stack.lambda.renew();
    provider.answers.set(path, answer);

    const response = await openBrowser().get(`${stack.url}/sign-in`);

    await expectPage(response, 503, "Signing in is not available");
    expect(logged()).toMatchObject([{ level: "error", status: 503, signIn: "unavailable" }]);
    expect(JSON.stringify(logged())).not.toContain("secret");
    expect((await stack.call("session", { as: ada.token })).status).toBe(200);
    provider.answers.clear();
    expect((await openBrowser().get(`${stack.url}/sign-in`)).status).toBe(302);
  });

  it.each<[string, string, Parameters<HostileProvider["answers"]["set"]>[1]]>([
    ["is down at the token endpoint", "/token", (response) => response.destroy()],
    ["fails at the token endpoint", "/token", html(502)],
    ["answers the token request with a page", "/token", html(200)],
    ["does not answer the token request", "/token", () => {}],
    [
      "does not accept the secret",
      "/token",
      (response) =>
        response
          .writeHead(401, { "Content-Type": "application/json", "WWW-Authenticate": "Basic" })
          .end('{"error":"invalid_client"}'),
    ],
    ["is down where its keys are", "/keys", (response) => response.destroy()],
    ["has a page where its keys are", "/keys", html(200)],
    ["has no keys", "/keys", body("{}")],
    ["does not answer where its keys are", "/keys", () => {}],
  ])("that %s makes the callback 503, and the next one goes well", async (_, path, answer) => {
    provider.answers.set(path, answer);
    const browser = openBrowser();

    const response = await unchanged(stack, () => round({}, browser));

    await expectPage(response, 503, "Signing in is not available");
    expect(attemptsIn(browser)).toHaveLength(1);
    expect(logged()).toMatchObject([{ level: "error", status: 503, signIn: "unavailable" }]);
    expect(JSON.stringify(logged())).not.toContain("secret");
    provider.answers.clear();
    expect(isSignedIn(await round())).toBe(true);
  });

  it.each(["invalid_grant", "invalid_request"])("that refuses the code by %s makes it 400", async (error) => {
    provider.answers.set("/token", (response) =>
      response.writeHead(400, { "Content-Type": "application/json" }).end(JSON.stringify({ error })),
    );

    await expectPage(await round(), 400, "Signing in did not work");
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
    expect(provider.requests.filter(({ path }) => path === "/token")).toHaveLength(1);
  });

  it("that sends its client elsewhere is not followed", async () => {
    provider.answers.set("/token", (response) =>
      response.writeHead(307, { Location: `${provider.issuer}/stolen` }).end(),
    );

    await expectPage(await round(), 503, "Signing in is not available");
    expect(provider.requests.map(({ path }) => path)).not.toContain("/stolen");
  });
});
