import { describe, expect, it } from "vitest";
import {
  type AdminContributor,
  type ClientOptions,
  type Colophon,
  type ContributorForm,
  createClient,
  imageOf,
  type Role,
  type User,
} from "../../../lib/client/index.js";

/* What the client sends and returns, over a network that is made here. */

const lost = "lost";
const brokenOff = "broken off";
type Outcome = Response | typeof lost | typeof brokenOff;

const empty = (status: number, retryAfter?: string) =>
  Response.json({}, { status, headers: retryAfter === undefined ? {} : { "Retry-After": retryAfter } });

const failing = (code: number, data: string, causes = "") =>
  Response.json({ data, code }, { status: code, headers: causes ? { "Invalid-Parameters": causes } : {} });

/** A client whose requests meet these outcomes one after the other, and then the last one again. */
function clientOver(outcomes: readonly Outcome[] = [], options: ClientOptions = {}) {
  const sent: Record<string, unknown>[] = [];
  const fetch = async (url: string, { headers, ...init }: RequestInit) => {
    init.signal?.throwIfAborted();
    sent.push({
      url: url.replace("https://api.example.com/v1", ""),
      ...Object.fromEntries(new Headers(headers)),
      ...init,
    });
    const outcome = outcomes[Math.min(sent.length, outcomes.length) - 1] ?? Response.json({});
    if (outcome === lost) throw new TypeError("fetch failed");
    return outcome === brokenOff ? new Response(broken()) : outcome.clone();
  };
  return { sent, colophon: createClient("https://api.example.com/v1/", { fetch, ...options }) };
}

const broken = () => new ReadableStream({ pull: (controller) => controller.error(new TypeError("terminated")) });

type Send = (colophon: Colophon) => Promise<unknown>;
const bySlug =
  (slug: string): Send =>
  (colophon) =>
    colophon.GET("/contributor/slug/{slug}", { path: { slug } });
const searching: Send = (colophon) =>
  colophon.GET("/contributors", { query: { client: 1, search: "a&b +c", lang: "", limit: 0 } });
const listRoles: Send = (colophon) => colophon.GET("/admin-roles");
const listPublishers: Send = (colophon) => colophon.GET("/publishers");
const role = { name: "a", description: "b" };
const addRole: Send = (colophon) => colophon.POST("/admin-roles/add", { body: role });
const path = { id: 7 };
const json = { "content-type": "application/json", body: JSON.stringify(role) };
const patch = { "content-type": "application/merge-patch+json", body: '{"username":"a"}' };
const key = { "idempotency-key": expect.stringMatching(/^[\w-]{20,}$/) };
const lenient = { headers: { Prefer: "handling=lenient" } };
const other = { headers: { "X-Page": "2", "idempotency-key": "mine" }, cache: "no-store" } as const;

interface SentCall {
  readonly what: string;
  readonly send: Send;
  readonly request: object;
  readonly options?: ClientOptions;
}

const requests: readonly SentCall[] = [
  {
    what: "one part of the path, whatever is in it",
    send: bySlug("../a?b#c$&日本"),
    request: { url: "/contributor/slug/..%2Fa%3Fb%23c%24%26%E6%97%A5%E6%9C%AC" },
  },
  {
    what: "a query without its empty parameters",
    send: searching,
    request: { url: "/contributors?client=1&search=a%26b+%2Bc&limit=0" },
  },
  { what: "the cookie of administrators", send: listRoles, request: { credentials: "include" } },
  { what: "the cookie, to learn whose it is", send: (it) => it.GET("/session"), request: { credentials: "include" } },
  { what: "the cookie, to end the session", send: (it) => it.POST("/sign-out"), request: { credentials: "include" } },
  {
    what: "the cookie if the client has to",
    send: listPublishers,
    request: { credentials: "include" },
    options: { credentials: "include" },
  },
  {
    what: "no cookie if the client has none",
    send: listRoles,
    request: { credentials: "omit" },
    options: { credentials: "omit" },
  },
  {
    what: "neither cookie, key nor preference to the public",
    send: listPublishers,
    request: { credentials: undefined, "idempotency-key": undefined, prefer: undefined },
  },
  { what: "the preference that misspelt names are refused", send: addRole, request: { prefer: "handling=strict" } },
  {
    what: "another preference",
    send: (it) => it.GET("/admin-roles", lenient),
    request: { prefer: "handling=lenient" },
  },
  { what: "a change with a key", send: addRole, request: { ...json, ...key, method: "POST" } },
  {
    what: "a merge patch",
    send: (it) => it.POST("/admin-users/edit/{id}", { path, patch: { username: "a" } }),
    request: { ...patch, ...key },
  },
  {
    what: "the headers of client and call",
    send: (it) => it.DELETE("/admin-roles/delete/{id}", { path, ...other }),
    request: { "idempotency-key": "mine", cookie: "a=b", "x-page": "2", cache: "no-store" },
    options: { headers: { Cookie: "a=b", "X-Page": "1" } },
  },
];

const results: readonly { what: string; response: Response; result: object }[] = [
  {
    what: "the version of a record",
    response: Response.json({}, { headers: { ETag: '"3"' } }),
    result: { data: {}, version: '"3"' },
  },
  {
    what: "the id of a new record",
    response: Response.json({}, { headers: { Location: "/v1/admin-roles/id/207" } }),
    result: { created: 207 },
  },
  {
    what: "an error that names nothing",
    response: failing(400, "Bad request"),
    result: { error: { code: 400, field: undefined, fields: [] } },
  },
  {
    what: "an error and its fields",
    response: failing(
      400,
      "Required parameters missing",
      `first_name;reason="missing", added_aliases;reason="long";max=255;at="/1/name"`,
    ),
    result: {
      error: {
        field: "first_name",
        fields: [
          { name: "first_name", reason: "missing" },
          { name: "added_aliases", reason: "long", max: 255, at: "/1/name" },
        ],
      },
    },
  },
  {
    what: "fields of any name",
    response: failing(
      400,
      "Invalid parameter: a b",
      String.raw`"a \"b\", \\;c=1";reason="undeclared", %"f%c3%bcr";reason="undeclared", *7/a:b;reason="undeclared"`,
    ),
    result: { error: { fields: ['a "b", \\;c=1', "für", "*7/a:b"].map((name) => ({ name, reason: "undeclared" })) } },
  },
  { what: "the status of other JSON", response: empty(502), result: { error: { code: 502, data: "HTTP status 502" } } },
  {
    what: "the status of a page",
    response: new Response("<h1>", { status: 502 }),
    result: { error: { code: 502, data: "HTTP status 502" } },
  },
];

/** What requests meet, how often a call sends them, and the status of its result; without one it rejects. */
interface Retries {
  readonly what: string;
  readonly outcomes: readonly Outcome[];
  readonly times: number;
  readonly status?: number;
  readonly options?: ClientOptions;
}

const retries: readonly Retries[] = [
  { what: "429 with a time to wait", outcomes: [empty(429, "0"), empty(200)], times: 2, status: 200 },
  { what: "503 with a time to wait", outcomes: [empty(503, "0"), empty(200)], times: 2, status: 200 },
  { what: "504", outcomes: [empty(504, "0"), empty(200)], times: 2, status: 200 },
  { what: "a lost request", outcomes: [lost, empty(200)], times: 2, status: 200 },
  { what: "a response that breaks off", outcomes: [brokenOff, empty(200)], times: 2, status: 200 },
  { what: "500", outcomes: [empty(500, "0")], times: 1, status: 500 },
  { what: "401", outcomes: [empty(401)], times: 1, status: 401 },
  { what: "503 of a service without the feature", outcomes: [empty(503)], times: 1, status: 503 },
  { what: "503 with a strange time to wait", outcomes: [empty(503, "soon")], times: 1, status: 503 },
  {
    what: "503 until a date that has passed",
    outcomes: [empty(503, "Fri, 27 Nov 2026 08:00:00 GMT"), empty(200)],
    times: 2,
    status: 200,
  },
  {
    what: "503 until a date that is far",
    outcomes: [empty(503, "Fri, 27 Nov 2099 08:00:00 GMT")],
    times: 1,
    status: 503,
  },
  { what: "429 with a longer time than a call has", outcomes: [empty(429, "300")], times: 1, status: 429 },
  {
    what: "429 with a longer time than the client's",
    outcomes: [empty(429, "20")],
    times: 1,
    status: 429,
    options: { retry: { seconds: 19 } },
  },
  { what: "errors all the time", outcomes: [empty(503, "0"), empty(503, "0"), empty(429, "0")], times: 3, status: 429 },
  { what: "losses all the time", outcomes: [lost, lost, brokenOff], times: 3 },
  {
    what: "errors, if the client tries twice",
    outcomes: [empty(503, "0")],
    times: 2,
    status: 503,
    options: { retry: { attempts: 2 } },
  },
  {
    what: "an error, if the client tries once",
    outcomes: [empty(503, "0")],
    times: 1,
    status: 503,
    options: { retry: false },
  },
];

describe("A call", () => {
  it.each(requests)("sends $what", async ({ send, request, options }) => {
    const { sent, colophon } = clientOver([], options);

    await send(colophon);

    const fields = sent.map((each) => Object.fromEntries(Object.keys(request).map((name) => [name, each[name]])));
    expect(fields).toEqual([request]);
  });

  it.each(["", ".", ".."])("throws for the path parameter '%s', whose URL is another endpoint's", async (slug) => {
    const { sent, colophon } = clientOver();

    await expect(bySlug(slug)(colophon)).rejects.toThrow(TypeError);
    expect(sent).toEqual([]);
  });

  it.each(results)("returns $what", async ({ response, result }) => {
    expect(await addRole(clientOver([response]).colophon)).toMatchObject(result);
  });

  describe.each([
    { what: "A read", send: listRoles },
    { what: "A change", send: addRole },
  ])("$what", ({ send }) => {
    it.each(retries)("after $what", async ({ outcomes, times, status, options }) => {
      const { sent, colophon } = clientOver(outcomes, options);

      const result = (await send(colophon).catch((error) => ({ error }))) as { response?: Response; error?: Error };

      expect([sent.length, result.response?.status]).toEqual([times, status]);
      if (status === undefined)
        expect(result.error?.message).toMatch(/^No response from https:\/\/api\.example\.com\/v1\/\S+: terminated$/);
      expect(new Set(sent.map((each) => each["idempotency-key"])).size).toBe(1);
    });
  });

  it("counts an attempt without a response as lost after its seconds", async () => {
    let attempts = 0;
    const fetch = (_: string, { signal }: RequestInit) => {
      attempts++;
      return new Promise<Response>((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    };
    const colophon = createClient("https://api.example.com", { fetch, retry: { attempts: 2, attemptSeconds: 0.05 } });

    await expect(colophon.GET("/publishers")).rejects.toThrow(/^No response from https:.*\/publishers: .*timeout/);
    expect(attempts).toBe(2);
  });

  it("sends an avatar as often as the client says, too", async () => {
    const { sent, colophon } = clientOver([empty(503, "0")], { retry: false });

    await colophon.updateAvatar(opened, new Blob(["image"]));

    expect(sent).toHaveLength(1);
  });

  it("rejects a response that is no JSON, with its URL", async () => {
    const { colophon } = clientOver([new Response("<!doctype html>")]);

    await expect(listPublishers(colophon)).rejects.toThrow(
      "https://api.example.com/v1/publishers responds with no JSON, so it is no address of the service",
    );
  });

  it("rejects a path that the service does not have, and suggests the nearest", async () => {
    const { sent, colophon } = clientOver();

    const mistyped = colophon.GET("/contributer/slug/{slug}" as "/contributor/slug/{slug}", { path: { slug: "a" } });

    await expect(mistyped).rejects.toThrow(
      "There is no GET /contributer/slug/{slug}; did you mean /contributor/slug/{slug}?",
    );
    expect(sent).toEqual([]);
  });

  it("reports each 401 at one place", async () => {
    const signedOut: unknown[] = [];
    const { colophon } = clientOver([failing(401, "Unauthorized")], { onSignedOut: () => signedOut.push(1) });

    await listRoles(colophon);
    await addRole(colophon);

    expect(signedOut).toHaveLength(2);
  });

  it("has a key of its own each time, and tries as often as it says itself", async () => {
    const { sent, colophon } = clientOver([empty(429, "0")], { retry: false });

    await addRole(colophon);
    await colophon.POST("/admin-roles/add", { body: role, retry: { attempts: 5 } });

    expect(sent).toHaveLength(6);
    expect(new Set(sent.map((each) => each["idempotency-key"])).size).toBe(2);
  });

  it("ends at once when its signal is aborted, also while it waits", async () => {
    const abortion = new AbortController();
    const { sent, colophon } = clientOver([empty(503, "20")]);
    const { signal } = abortion;

    const result = colophon.GET("/admin-roles", { signal });
    await expect.poll(() => sent.length).toBe(1);
    abortion.abort(new Error("The page was left"));

    await expect(result).rejects.toThrow("The page was left");
    await expect(colophon.GET("/admin-roles", { signal })).rejects.toThrow("The page was left");
    expect(sent).toHaveLength(1);
  });
});

it("A base URL without a scheme is refused", () => {
  expect(() => createClient("localhost:3000")).toThrow('The base URL "localhost:3000" has no scheme: write https://');
});

describe("The session", () => {
  const session = { user: { id: 7, username: "ada" }, permissions: ["edit-roles"], expires: "" };

  it("is read once, and knows what its user may do", async () => {
    const { sent, colophon } = clientOver([Response.json(session)]);

    const [signedIn] = await Promise.all([colophon.session(), colophon.session()]);
    await colophon.session();

    expect(sent).toHaveLength(1);
    expect([signedIn?.can("edit-roles"), signedIn?.can("add-roles")]).toEqual([true, false]);
  });

  it("is undefined for nobody, without a report, and asked for again", async () => {
    const signedOut: unknown[] = [];
    const { sent, colophon } = clientOver([failing(401, "Unauthorized"), Response.json(session)], {
      onSignedOut: () => signedOut.push(1),
    });

    expect(await colophon.session()).toBeUndefined();
    expect((await colophon.session())?.user.username).toBe("ada");
    expect([sent.length, signedOut.length]).toEqual([2, 0]);
  });

  it.each([
    { what: "a sign-out", call: (colophon: Colophon) => colophon.POST("/sign-out"), response: empty(200) },
    { what: "a 401 of another call", call: listRoles, response: failing(401, "Unauthorized") },
  ])("is asked for again after $what", async ({ call, response }) => {
    const { sent, colophon } = clientOver([Response.json(session), response, Response.json(session)]);

    await colophon.session();
    await call(colophon);
    await colophon.session();

    expect(sent.map(({ url }) => url).filter((url) => url === "/session")).toHaveLength(2);
  });

  it("rejects with the service's error", async () => {
    const { colophon } = clientOver([failing(500, "Internal server error"), Response.json(session)]);

    await expect(colophon.session()).rejects.toThrow("Internal server error");
    expect((await colophon.session())?.can("edit-roles")).toBe(true);
  });
});

describe("A detail that has taken the edit lock", () => {
  it("gives it back when it is closed, also while the page is being left", async () => {
    const { sent, colophon } = clientOver();

    const opened = await colophon.GET("/admin-users/id/{id}", { path });
    await opened.close?.();

    expect(sent[1]).toMatchObject({ method: "DELETE", url: "/admin-users/lock/7", keepalive: true });
  });

  it("has nothing to close if it was only looked at", async () => {
    const { colophon } = clientOver();

    expect(await colophon.GET("/admin-users/id/{id}", { path, query: { lock: "none" } })).not.toHaveProperty("close");
  });
});

/** A contributor with two of everything, a user with a role, and a role with a permission, as they were opened. */
const opened = {
  version: '"1"',
  data: {
    ...{ id: 7, slug: "first-last", image: "", first_name: "First", last_name: "Last", gender: "male" },
    ...{ type: "author", public: true },
    links: ["one", "two"].map((name) => ({ url: `https://${name}.example.com`, domain: `${name}.example.com` })),
    aliases: ["One", "Two"].map((name, index) => ({ id: index + 1, name })),
    descriptions: [
      { id: 3, description: "One\nTwo", language: "English", source: "Book" },
      { id: 4, description: "Erste", language: "German", source: "" },
    ],
    relations: [5, 6].map((id) => ({ id, relation_id: id + 10, relation_type: "friend" })),
  } as unknown as AdminContributor,
};
const user = { version: '"1"', data: { id: 7, username: "Ada", age_verified: false, roles: [{ id: 1 }] } as User };
const openedRole = { version: '"1"', data: { id: 7, name: "R", description: "D", permissions: [{ id: 3 }] } as Role };
const openedPermission = { version: '"1"', data: { id: 7, name: "P", description: "D" } };
const { links, aliases, descriptions, relations } = opened.data;
const [[one, two], [english, german], [, second]] = [aliases, descriptions, relations];

const save =
  (form: unknown): Send =>
  (it) =>
    it.editContributor(opened, form as ContributorForm);

const edits: readonly { what: string; send: Send; content: object }[] = [
  {
    what: "nothing that is as it was, as strings or with a form's line breaks, whatever else it has",
    send: save({
      ...opened.data,
      links: links.map(({ url }) => url),
      descriptions: [{ ...english, description: "One\r\nTwo" }, german],
    }),
    content: {},
  },
  {
    what: "what has changed, and nothing that the form lacks",
    send: save({ first_name: "New", public: false, gender: undefined, slug: "s" }),
    content: { first_name: "New", public: false },
  },
  {
    what: "one emptiness for null and nothing",
    send: save({ last_name: "", gender: null, type: "", links: [""] }),
    content: { last_name: null, gender: null, type: null, links: [] },
  },
  {
    what: "elements that are added, removed and changed, of these only what has changed, and all links",
    send: save({
      aliases: [{ ...one, name: "Uno" }, two, { name: "Three" }],
      descriptions: [
        { ...english, source: null },
        { description: "A", language: "fr" },
      ],
      relations: [{ ...second, relation_type: "foe" }],
      links: links.slice(1),
    }),
    content: {
      ...{ added_aliases: [{ name: "Uno" }, { name: "Three" }], removed_aliases: [1] },
      added_descriptions: [{ description: "A", language: "fr" }],
      ...{ modified_descriptions: [{ id: 3, source: "" }], removed_descriptions: [4] },
      ...{ modified_relations: [{ id: 6, relation_type: "foe" }], removed_relations: [5] },
      links: ["https://two.example.com"],
    },
  },
  {
    what: "aliases as strings",
    send: save({ aliases: ["Two", "4"] }),
    content: { added_aliases: [{ name: "4" }], removed_aliases: [1] },
  },
  { what: "nothing new of a user", send: (it) => it.editUser(user, { ...user.data }), content: {} },
  {
    what: "other roles",
    send: (it) => it.editUser(user, { roles: [{ id: 2 }] }),
    content: { added_roles: [2], removed_roles: [1] },
  },
  { what: "no roles", send: (it) => it.editUser(user, { roles: null }), content: { removed_roles: [1] } },
  {
    what: "of a role its required name, too",
    send: (it) => it.editRole(openedRole, { description: null, permissions: [] }),
    content: { name: "R", description: "", removed_permissions: [3] },
  },
  {
    what: "of a permission both required fields",
    send: (it) => it.editPermission(openedPermission, { name: "New" }),
    content: { name: "New", description: "D" },
  },
];

const others = Response.json({ id: 7, gender: "female" }, { headers: { ETag: '"2"' } });

interface Ending {
  readonly what: string;
  readonly form: ContributorForm;
  readonly responses: readonly Response[];
  readonly result: object;
}

const endings: readonly Ending[] = [
  { what: "saved", form: { gender: "" }, responses: [empty(200)], result: { status: "saved" } },
  {
    what: "a conflict",
    form: { gender: "" },
    responses: [empty(412), others],
    result: { status: "conflict", error: { code: 412 }, current: { version: '"2"' } },
  },
  {
    what: "refused if another user has deleted it",
    form: { gender: "" },
    responses: [empty(412), empty(404)],
    result: { error: { code: 404 } },
  },
  {
    what: "taken",
    form: { first_name: "A" },
    responses: [failing(409, "Taken")],
    result: { status: "taken", error: { data: "Taken" } },
  },
  {
    what: "invalid by its list",
    form: { aliases: ["?"] },
    responses: [failing(400, "Invalid parameter: added_aliases", 'added_aliases;reason="invalid"')],
    result: { status: "invalid", error: { field: "aliases", fields: [{ name: "aliases", reason: "invalid" }] } },
  },
  {
    what: "invalid without its name",
    form: { first_name: " " },
    responses: [failing(400, "Required parameters missing", 'first_name;reason="missing"')],
    result: { status: "invalid", error: { field: "first_name", data: "Required parameters missing" } },
  },
  {
    what: "refused without a session",
    form: { gender: "" },
    responses: [empty(401)],
    result: { status: "refused", error: { code: 401 } },
  },
];

describe("An edit", () => {
  it.each(edits)("sends $what", async ({ send, content }) => {
    const { sent, colophon } = clientOver();

    expect(await send(colophon)).toEqual({ status: "saved" });

    expect(sent).toMatchObject([{ url: expect.stringMatching(/^\/admin-\w+\/edit\/7$/), "if-match": '"1"' }]);
    expect(JSON.parse(`${sent[0]?.body}`)).toEqual(content);
  });

  it.each(endings)("is $what", async ({ form, responses, result }) => {
    const { sent, colophon } = clientOver(responses);

    expect(await colophon.editContributor(opened, form)).toMatchObject(result);

    // It reads what another user has saved, with what was included before, and takes no lock.
    const read = "/admin-contributors/id/7?lock=none&include=type%2Cpublic";
    expect(sent.slice(1).map(({ url }) => url)).toEqual(responses.slice(1).map(() => read));
  });

  it("throws for what the record was opened without: fields, or its version", async () => {
    const { colophon } = clientOver();
    const { type: _, public: __, ...data } = opened.data;

    for (const form of [{ public: false }, { type: "artist" }, { disambiguation: "poet" }, { sort_name: "B" }])
      await expect(colophon.editContributor({ ...opened, data }, form)).rejects.toThrow(TypeError);
    await expect(colophon.editContributor({ ...opened, version: "" }, { gender: "" })).rejects.toThrow(TypeError);
  });
});

it("The data URL of an image has its type and bytes, and a file too large for the service is not even read", async () => {
  const urlOf = (bytes: Uint8Array<ArrayBuffer>) => imageOf(new File([bytes], "a.png", { type: "image/png" }));
  const bytes = Uint8Array.from({ length: 100_000 }, (_, index) => index % 251);
  const max = Math.floor((6_000_000 - "data:image/png;base64,".length) / 4) * 3;

  expect(await urlOf(bytes)).toBe(`data:image/png;base64,${Buffer.from(bytes).toString("base64")}`);
  expect((await urlOf(new Uint8Array(max))).length).toBeLessThanOrEqual(6_000_000);
  await expect(urlOf(new Uint8Array(max + 1))).rejects.toThrow(RangeError);
});
