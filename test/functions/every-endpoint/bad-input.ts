import { describe, expect, it } from "vitest";
import { type Declaration, endpointPath, queryOf, routesOf } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import type { Caller } from "../../support/callers.ts";
import { aWholeContributor } from "../../support/catalogue.ts";
import { identifier } from "../../support/database.ts";
import { envelope, forbidden, invalidParameter, missingParameters, unauthorized } from "../../support/envelope.ts";
import { panelOrigin } from "../../support/environment.ts";
import { aRole } from "../../support/records.ts";
import { bodyOf, makers, tableOf } from "../../support/requests.ts";
import { eventOf } from "../../support/samples.ts";
import type { Request } from "../../support/stack.ts";
import { expectEach } from "../../support/unchanged.ts";
import type { UploadStack } from "../../support/uploads.ts";

/*
 * What all endpoints refuse in the same way (lib/contract/README.md, "Bad input"); images and signing in have tests of their
 * own.
 */

export function testBadInput(stack: UploadStack, administrator: Caller): void {
  const names = {
    users: ["username", "Username already taken"],
    roles: ["name", "Role with the same name already exists"],
    permissions: ["name", "Permission with the same name already exists"],
    contributors: ["first_name", "Contributor with this Name exists already."],
  } as const;

  const all = endpoints.map((each) => [endpointPath(each), each] as const);
  const some = (condition: (declaration: Declaration) => unknown) =>
    all.filter(([, each]) => !each.needsFileService && !each.needsSignIn && condition(each));

  const refuseEach = <Value>(
    name: string,
    values: readonly Value[],
    request: (value: Value) => Request,
    response: object,
  ) => expectEach(stack, values, (value) => administrator.call(name, request(value)), response);

  describe.each(all.filter(([, { parameters = {} }]) => "id" in parameters))("The id of %s", (name, declaration) => {
    const [noun = ""] = /user|role|permission|contributor|publisher/.exec(name) ?? [];
    const request = (id: string | number): Request => ({
      path: { id },
      ...(declaration.query ? { query: { client: 1 } } : {}),
      // Whatever else is wrong: a name that is taken, and ids that nothing has.
      ...(declaration.body
        ? { body: { ...bodyOf("Administrator"), added_roles: [999_999], added_permissions: [999_999] } }
        : {}),
    });
    const field = "field" in declaration.response ? declaration.response.field : undefined;
    const nothing = field
      ? { [field]: [], max: 0, from: 0, to: 0 }
      : envelope(404, `${noun[0]?.toUpperCase()}${noun.slice(1)} not found`);
    const noInteger = ["abc", "administrator", "1.5", "1.0", "1e3", "+1", " 1", "-", "1;drop", "1 or 1=1"];

    it("finds nothing where no record has it, or can have it", async () => {
      await refuseEach(name, [987_654_321, 0, -1, "-0", "9007199254740993", "9".repeat(20)], request, nothing);
    });

    // The ids of contributors and publishers are numbers in the interface, the others are strings.
    if (noun === "contributor" || noun === "publisher")
      it("is 400 where it is no integer", async () => {
        await refuseEach(name, noInteger, request, missingParameters);
      });
    else
      it("finds nothing where it is no integer", async () => {
        await refuseEach(name, noInteger, request, nothing);
      });
  });

  describe.each(some(({ parameters }) => parameters && "slug" in parameters))("The slug of %s", (name) => {
    it.each([
      { what: "no record has it", slug: "nobody" },
      { what: "it is a percent sign", slug: "%" },
      { what: "it has an apostrophe", slug: "a'b" },
      { what: "it is an emoji", slug: "😀" },
      { what: "it has 255 characters", slug: "x".repeat(255) },
      { what: "it has 256 characters", slug: "x".repeat(256) },
      { what: "it has a NUL", slug: "a\0b" },
      { what: "it is a space", slug: " " },
      { what: "it has an escaped slash", slug: "a%2Fb" },
    ])("finds nothing where $what", async ({ slug }) => {
      const { body } = await stack.call(name, { path: { slug } });

      const [noun = ""] = name.split("/");
      expect(body).toEqual(envelope(404, `${noun[0]?.toUpperCase()}${noun.slice(1)} not found`));
    });
  });

  /** What can do without a client that it takes. */
  const withoutClient = [
    "admin-contributors/add",
    "contributor/slug",
    "publisher/slug",
    "publishers/list",
    "series/slug",
  ];

  const invalid: Readonly<Record<string, readonly string[]>> = {
    order: ["id", "foo", "name-asc; select 1"],
    limit: ["-1", "x", "1e30", "1e3", "NaN"],
    offset: ["-1", "abc", "1e3"],
    search: ["\0", "a".repeat(10_000)],
    lang: ["\0", "x".repeat(256)],
    user_lang: ["\0", "x".repeat(256)],
    "changed-since": ["2026-11-20", "2026-11-20T10:15:00", "0000-01-01T00:00:00Z", "now", " "],
    permission: ["abc", "0", "-1", "1.5", "9".repeat(20)],
    client: ["abc", "0", "-1", "1.5", "9".repeat(20)],
    include: ["everything", "type,", ",slug", "slug,,slug", "type, public", "Type", "type;public", "slug,type,public"],
    letter: ["ab", "1", "##", "a;", " "],
    ids: ["0", "1,", ",1", "1,,2", "1, 2", "a", "1;2", "-1", "9".repeat(16), Array(201).fill("1").join()],
    public: ["yes", "1", "True", " "],
    website: ["yes", "1", "True", " "],
    type: ["\0", "x".repeat(256)],
    tag: ["\0", "x".repeat(256)],
    lock: ["all", "None", "none,none", " "],
  };

  describe.each(some((each) => Object.keys(queryOf(each)).length > 0))("The query of %s", (name, declaration) => {
    const { body } = declaration;
    const query = queryOf(declaration);
    const valid = { ...("client" in query ? { client: 1 } : {}) };
    const request = (more: Readonly<Record<string, string | number>>): Request => ({
      path: { id: 1, slug: "a" },
      query: { ...valid, ...more },
      ...(body ? { body: bodyOf() } : {}),
    });
    const isRequired = (parameter: string) => parameter === "client" && !withoutClient.includes(name);
    // Whatever the role, it has users or none.
    const parameters = Object.keys(query).filter((each) => each !== "role");

    it.each(parameters)("is 400 where %s cannot be read", async (parameter) => {
      const response = isRequired(parameter) ? missingParameters : invalidParameter(parameter);
      await refuseEach(name, invalid[parameter] ?? [], (value) => request({ [parameter]: value }), response);
    });

    it.each(parameters.filter(isRequired))("is 400 without a %s, whatever else is wrong", async () => {
      const queries = [{}, { client: "" }, { limit: -1 }];
      await refuseEach(name, queries, (query) => ({ path: { id: 1 }, query }), missingParameters);
    });

    it.each(Object.keys(query))("is 400 where %s comes twice", async (parameter) => {
      const { path, queryStringParameters, headers, body: sample = null } = await eventOf(declaration);
      const { [parameter]: value = parameter === "order" ? "name-asc" : "1", ...others } = queryStringParameters ?? {};
      const encoded = `%${parameter.charCodeAt(0).toString(16)}${parameter.slice(1)}`;
      const [once, cookie] = [`${parameter}=${value}`, `refreshToken=${administrator.token}`];

      for (const twice of [`${once}&${once}`, `${once}&${parameter}`, `${parameter};${encoded}=${value}`]) {
        const response = await fetch(`${stack.url}${path}?${new URLSearchParams(others)}&${twice}`, {
          method: declaration.method,
          headers: { ...headers, Origin: panelOrigin, Cookie: cookie },
          body: sample,
        });
        const expected = isRequired(parameter) ? missingParameters : invalidParameter(parameter);
        expect([twice, response.status, await response.json()]).toEqual([twice, 400, expected]);
      }
    });
  });

  it("A query parameter that the interface does not name is ignored, also if it comes twice", async () => {
    const response = await fetch(`${stack.url}/contributors?client=1&limit=1&page=1&page=2&LIMIT=3&LIMIT=4`);

    expect(await response.json()).toMatchObject({ from: 0, to: 1 });
  });

  /** The JSON of a body, with an é as Latin-1 has it at the end of each text. */
  const notUtf8 = (body: object): Buffer => Buffer.from(JSON.stringify(body).replaceAll('",', '\xe9",'), "latin1");

  /** What the interface requires in a body. */
  const required: Readonly<Record<string, readonly string[]>> = {
    "admin-users/edit": ["username"],
    "admin-roles/add": ["name", "description"],
    "admin-roles/edit": ["name"],
    "admin-permissions/add": ["name", "description"],
    "admin-permissions/edit": ["name", "description"],
    "admin-contributors/add": ["first_name"],
    "admin-contributors/edit": ["first_name"],
  };

  const nothing = 999_999_999;
  type Whole = Awaited<ReturnType<typeof aWholeContributor>>;

  /** What optional fields cannot be, beside texts (texts.test.ts), by the elements of the contributor and of another one. */
  const unfit = (own: Whole, other: Whole): Readonly<Record<string, readonly unknown[]>> => ({
    last_name: [5],
    description: [1],
    gender: [{}],
    type: [["x"]],
    public: ["yes"],
    age_verified: ["yes", 1],
    links: [
      "https://example.com",
      ...[
        "javascript:alert(1)",
        "ftp://example.com",
        "https://bank.example@example.com",
        "mailto:a@b.example",
        { url: "javascript:alert(1)" },
        { domain: "example.com" },
      ].map((link) => [link]),
      ...[null, "https://", "", `https://example.org/${"本".repeat(250)}`].map((link) => [link]),
      Array.from({ length: 51 }, (_, number) => `https://example.com/${number}`),
    ],
    added_roles: ["1", [0], [nothing]],
    removed_roles: [[{ id: 1 }], Array(201).fill(1)],
    added_permissions: ["1", [1.5], [nothing]],
    removed_permissions: [["view-users"], Array(501).fill(1)],
    added_aliases: [[{ title: "x" }], Array(201).fill("x")],
    removed_aliases: [["x"], [other.alias]],
    added_descriptions: [[{ description: "x" }]],
    removed_descriptions: [["x"], [other.description]],
    modified_descriptions: [
      [{ description: "x" }],
      [{ id: nothing }],
      [{ id: other.description, description: "Mine" }],
    ],
    added_relations: [
      [{ relation_id: nothing, relation_type: "x" }],
      [{ relation_id: 1 }],
      [{ relation_id: own.id, relation_type: "self" }],
    ],
    removed_relations: [[{ id: "x" }], [other.relation]],
    modified_relations: [
      [{ id: nothing }],
      [{ id: other.relation, relation_type: "x" }],
      [{ id: own.relation, relation_id: own.id }],
    ],
  });

  const mergePatch = { "Content-Type": "application/merge-patch+json" };

  const megabyte = 1_048_576;
  const bodyOfSize = (bytes: number) => `{"unknown":"${"é".repeat((bytes - 14) / 2)}"}`;

  describe.each(some(({ body }) => body))("The body of %s", (name, declaration) => {
    const table = tableOf(declaration);
    const [column, message] = names[table];
    const make = () => makers[table](stack.sql);
    /** As a whole, and as a merge patch where the endpoint takes one. */
    const kinds: Readonly<Record<string, string>>[] = [{}, ...(declaration.mergePatch ? [mergePatch] : [])];

    it("is 400 where it is no JSON object", async () => {
      const { id } = await make();
      const whole = ["[]", "null", '"text"', "7", "{", "", "name=n&description=d"];

      for (const headers of kinds)
        await refuseEach(name, whole, (body) => ({ path: { id }, body, headers }), missingParameters);
    });

    it("is 400 where it is no UTF-8", async () => {
      const { id } = await make();

      for (const headers of kinds)
        await refuseEach(name, [notUtf8(bodyOf())], (body) => ({ path: { id }, body, headers }), missingParameters);
    });

    it("is 400 where a required field is missing", async () => {
      const { id } = await make();
      const without = (required[name] ?? []).map((field) => ({ ...bodyOf(), [field]: undefined }));

      expect(Object.keys(required), "with all bodies").toContain(name);
      await refuseEach(name, ["{}", ...without], (body) => ({ path: { id }, body }), missingParameters);
    });

    it("is 400 where a required field is empty or no text, whatever else is wrong", async () => {
      const { id } = await make();
      const otherwiseWrong = { gender: 5, added_roles: "x", added_permissions: "x" };
      const bodies = (required[name] ?? []).flatMap((field) => [
        ...[null, "", " \t\u2028", 7, ["x"]].map((value) => ({ ...bodyOf(), [field]: value })),
        { ...bodyOf(), ...otherwiseWrong, [field]: null },
      ]);

      for (const headers of kinds)
        await refuseEach(name, bodies, (body) => ({ path: { id }, body, headers }), missingParameters);
    });

    it("is 400 where an optional field cannot be read, or names what is not there", async () => {
      const [own, other] = [await aWholeContributor(stack.sql), await aWholeContributor(stack.sql)];
      const id = table === "contributors" ? own.id : (await make()).id;
      // What is right beside it is not done either.
      const body = { ...bodyOf(), added_aliases: ["Good"], removed_descriptions: [own.description] };

      for (const [field, values] of Object.entries(unfit(own, other)))
        if (field in (declaration.body ?? {}) && !required[name]?.includes(field))
          for (const headers of kinds)
            await refuseEach(
              name,
              values,
              (value) => ({ path: { id }, body: { ...body, [field]: value }, headers }),
              invalidParameter(field),
            );
    });

    const sendAs = (id: number, type: string) => ({ path: { id }, body: bodyOf(), headers: { "Content-Type": type } });

    it("is 415 where its type is another patch than a merge patch", async () => {
      const { id } = await make();
      const patches = ["merge-patch", "merge-patch+jsonx", "json-patch+json", "Merge-Patch; charset=utf-8"].map(
        (subtype) => `application/${subtype}`,
      );

      await refuseEach(name, patches, (type) => sendAs(id, type), envelope(415, "Unsupported media type"));
    });

    it.each(["application/json", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded"])(
      "is read as JSON where its type is %s",
      async (type) => {
        const { id } = await make();

        expect((await administrator.call(name, sendAs(id, type))).status).toBe(200);
      },
    );

    it("is 409 where another record has the name, whatever its case and space", async () => {
      const { id } = await make();
      const other = await make();
      const role = await makers.roles(stack.sql);
      const taken = `Émile ${crypto.randomUUID()}`;
      await stack.sql`update ${identifier(table)} set ${identifier(column)} = ${taken} where id = ${other.id}`;
      const more = { added_roles: [role.id], added_aliases: ["x"], gender: "x", age_verified: true };
      const request = (each: string, headers: Readonly<Record<string, string>>) => ({
        path: { id },
        body: { ...bodyOf(each), ...more },
        headers,
      });

      for (const headers of kinds)
        await refuseEach(
          name,
          [taken, ` ${taken.toUpperCase()} `],
          (each) => request(each, headers),
          envelope(409, message),
        );
    });

    const send = (bytes: number, as?: string, headers = {}) =>
      stack.call(name, { as, path: { id: 1 }, body: bodyOfSize(bytes), headers }).then(({ body }) => body);

    it("is read where it has 1 MB", async () => {
      expect(Buffer.byteLength(bodyOfSize(megabyte))).toBe(megabyte);
      expect(await send(megabyte, administrator.token)).toEqual(missingParameters);
    });

    it("is 413 where it has more than 1 MB", async () => {
      for (const headers of kinds)
        expect(await send(megabyte + 2, administrator.token, headers)).toEqual(envelope(413, "Request too long"));
    });

    it("is 401 where it has more than 1 MB and comes without a session", async () => {
      expect(await send(megabyte + 2)).toEqual(unauthorized);
    });
  });

  it.each(all.filter(([, { body, needsFileService }]) => body && needsFileService))(
    "A body with an image may have more than 1 MB: %s",
    async (name) => {
      const body = { image: "A".repeat(2 * megabyte) };

      expect((await administrator.call(name, { path: { id: 987_654 }, body })).status).toBe(404);
    },
  );

  it.each(all.filter(([, { body }]) => body))(
    "A body is read up to 16 KB before the session is known, and no further: %s",
    async (name) => {
      const send = (length: number, as: string) =>
        stack.call(name, { as, path: { id: 1 }, body: "[".repeat(length) }).then(({ body }) => body);

      expect(await send(16_384, "made-up")).toEqual(missingParameters);
      expect(await send(16_385, "made-up")).toEqual(unauthorized);
      expect(await send(16_385, administrator.token)).toEqual(missingParameters);
    },
  );

  it("A body may have any size at an endpoint that reads none", async () => {
    const { body } = await administrator.call("admin-roles/delete", {
      path: { id: 0 },
      body: bodyOfSize(2 * megabyte),
    });

    expect(body).toEqual(envelope(404, "Role not found"));
  });

  const shorter = endpoints.flatMap((each) =>
    routesOf(each)
      .slice(1)
      .flatMap((path) => [path, `${path}/`])
      .map((path) => ({ ...each, path })),
  );
  const cookie = () => ({ Cookie: `refreshToken=${administrator.token}` });

  it("Each endpoint with a path parameter has a path without it", () => {
    expect(shorter).toHaveLength(2 * 24);
  });

  describe.each(shorter)(
    "$method $path, a path without its parameter,",
    ({ method, path, permission, takesEditLock }) => {
      const send = async (headers: Readonly<Record<string, string>>) => {
        const response = await fetch(stack.url + path, { method, headers: { Origin: panelOrigin, ...headers } });
        return [response.status, await response.json(), response.headers.get("Access-Control-Allow-Origin")];
      };

      it("is 400 by the endpoint itself", async () => {
        expect(await send(cookie())).toEqual([400, missingParameters, panelOrigin]);
      });

      if (permission)
        it("is 401 without a session", async () => {
          expect(await send({})).toEqual([401, unauthorized, panelOrigin]);
        });

      if (permission && (method !== "GET" || takesEditLock))
        it("is 403 to a page of a foreign origin", async () => {
          expect(await send({ ...cookie(), Origin: "https://other.example.com" })).toEqual([403, forbidden, null]);
        });
    },
  );

  it.each([
    "/contributor/slug/nobody/",
    "/contributors/?client=1&search=nobody",
    "/contributors/",
    "/admin-users/id/0/",
  ])("A slash at the end changes nothing: %s", async (path) => {
    const [one, other] = await Promise.all(
      [path, path.replace(/\/(?=$|\?)/, "")].map((each) => fetch(stack.url + each, { headers: cookie() })),
    );

    expect([one?.status, await one?.text()]).toEqual([other?.status, await other?.text()]);
  });

  it.each([
    { what: "two slashes at the end", method: "GET", path: "/contributors//?client=1" },
    { what: "a method that the path does not have", method: "POST", path: "/contributors?client=1" },
    { what: "an unknown path", method: "GET", path: "/people" },
  ])("answers 404 to $what", async ({ method, path }) => {
    const response = await fetch(stack.url + path, { method });

    expect([response.status, await response.json()]).toEqual([404, envelope(404, "Not found")]);
  });

  it("answers 200 to a JSON body that begins with a byte-order mark", async () => {
    const { id } = await aRole(stack.sql);
    const body = `\ufeff${JSON.stringify({ name: `Role ${id}` })}`;

    const headers = { ...cookie(), "Content-Type": "application/json" };
    const response = await fetch(`${stack.url}/admin-roles/edit/${id}`, { method: "POST", headers, body });

    expect(await response.json()).toEqual(envelope(200, "Role updated"));
  });
}
