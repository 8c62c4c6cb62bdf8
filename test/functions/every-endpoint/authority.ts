import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { endpointPath, needsCaller } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { commonErrors } from "../../../lib/contract/errors.ts";
import { type Permission, permissions } from "../../../lib/contract/permissions.ts";
import { envelope, forbidden, unauthorized } from "../../support/envelope.ts";
import { panelOrigin } from "../../support/environment.ts";
import { anAdministrator, aSession, aUser, holderOf } from "../../support/people.ts";
import { requestFor } from "../../support/requests.ts";
import { expectEach, unchanged, whileDatabaseFails } from "../../support/unchanged.ts";
import type { UploadStack } from "../../support/uploads.ts";

export function testAuthority(stack: UploadStack): void {
  const keys = Object.keys(permissions) as Permission[];

  const holders = new Map<Permission, string>();

  beforeAll(async () => {
    for (const key of keys) holders.set(key, (await holderOf(stack.sql, key)).token);
  });

  const routes = endpoints
    .filter(({ needsSignIn }) => !needsSignIn)
    .map((each) => [`${each.method} ${each.path}`, each] as const);

  describe.each(routes)("%s", (_, declaration) => {
    const name = endpointPath(declaration);
    const { permission, method, needsFileService } = declaration;
    const ownHolder = () => holders.get(permission ?? "view-users");

    if (needsCaller(declaration)) {
      it("returns 401 without the cookie, before validation and without a statement", async () => {
        const { status, body } = await stack.call(name, {
          path: { id: "nonsense" },
          ...(method === "POST" ? { body: "{" } : {}),
        });

        expect([status, body]).toEqual([401, unauthorized]);
        expect(stack.dataApi.calls).toEqual([]);
      });

      it("returns 401 to invalid tokens, and changes nothing", async () => {
        const { sql } = stack;
        const administrator = await anAdministrator(sql);
        const revoked = await aSession(sql, administrator.id);
        await sql`update refresh_tokens set revoked_at = now() where digest = sha256(${revoked}::bytea)`;
        const expired = await aSession(sql, administrator.id, -1);
        const request = await requestFor(stack.sql, declaration);

        const similar = [`${administrator.token}x`, `A${administrator.token.toUpperCase()}`];

        const tokens = ["junk", revoked, expired, ...similar, "x".repeat(600)];
        await expectEach(stack, tokens, (as) => stack.call(name, { ...request, as }), unauthorized);
      });

      const endpointNamesUser = declaration.path.startsWith("/admin-users/");
      it(`returns ${endpointNamesUser ? 404 : 401} to a deleted user and changes nothing`, async () => {
        const deleted = await anAdministrator(stack.sql);
        await stack.sql`delete from users where id = ${deleted.id}`;
        const request = await requestFor(stack.sql, declaration);

        const { status, body } = await unchanged(stack, () => stack.call(name, { ...request, as: deleted.token }));

        const missing = { data: "User not found", code: 404 };
        expect({ status, body }).toEqual(
          endpointNamesUser ? { status: 404, body: missing } : { status: 401, body: unauthorized },
        );
      });
    }

    if (permission) {
      const others = keys.filter((each) => each !== permission);

      it("returns 403 to a caller with any other permission", async () => {
        const request = await requestFor(stack.sql, declaration);

        await unchanged(stack, async () => {
          await Promise.all(
            others.map(async (key) => {
              const { status, body, headers } = await stack.call(name, { ...request, as: holders.get(key) });
              const cause = headers.get("Missing-Permission");
              expect([key, status, body, cause]).toEqual([key, 403, forbidden, permission]);
            }),
          );
          return { status: 403 };
        });
      });

      it("returns 200 to a caller with this permission alone", async () => {
        const request = await requestFor(stack.sql, declaration);

        expect((await stack.call(name, { ...request, as: ownHolder() })).status).toBe(200);
      });

      if (declaration.path.endsWith("/{id}"))
        it("returns 403 to a caller without the permission where the record does not exist", async () => {
          const request = { ...(await requestFor(stack.sql, declaration)), path: { id: 987_654_321 } };

          const { status, body } = await stack.call(name, { ...request, as: holders.get(others[0] ?? permission) });

          expect([status, body]).toEqual([403, forbidden]);
        });
    }

    it("returns 500 with its own message when the database fails, and changes nothing", async () => {
      const request = { ...(await requestFor(stack.sql, declaration)), as: ownHolder() };

      const { status, body } = await unchanged(stack, () => whileDatabaseFails(stack, () => stack.call(name, request)));

      expect([status, body]).toEqual([500, envelope(500, { ...commonErrors, ...declaration.errors }[500])]);
    });

    if (!needsFileService)
      it.each([
        { whom: "an unknown token", tokenOf: () => "junk" },
        { whom: "a user without permissions", tokenOf: async () => (await aUser(stack.sql)).token },
        { whom: "a user with the permission", tokenOf: ownHolder },
      ])("takes one statement for $whom", async ({ tokenOf }) => {
        const as = await tokenOf();
        const request = await requestFor(stack.sql, declaration);
        // A whole list may exceed a result of the Data API.
        const query = { ...request.query, ...("list" in declaration.response ? { limit: 9 } : {}) };

        await stack.call(name, { ...request, query, as });

        expect(stack.dataApi.calls.map(({ operation }) => operation)).toEqual(["ExecuteStatement"]);
      });

    if (permission && method !== "GET") {
      const forged = [
        "null",
        "https://evil.example",
        "https://panel.example.com.evil.example",
        "http://panel.example.com",
        "https://panel.example.com:8443",
      ].map((Origin) => ({ Origin }));

      it("returns 403 to a page of a foreign origin, and changes nothing", async () => {
        const as = (await anAdministrator(stack.sql)).token;
        const request = await requestFor(stack.sql, declaration);

        await unchanged(stack, async () => {
          for (const headers of [...forged, { "Sec-Fetch-Site": "cross-site" }]) {
            const reply = await stack.call(name, { ...request, as, headers });
            expect([headers, reply.status, reply.body]).toEqual([headers, 403, forbidden]);
            expect(reply.headers.get("Missing-Permission")).toBeNull();
            expect(reply.headers.get("access-control-allow-origin")).toBeNull();
          }
          return { status: 403 };
        });
      });

      it("returns 200 to a page of the panel, which may read it", async () => {
        const as = (await anAdministrator(stack.sql)).token;
        const request = await requestFor(stack.sql, declaration);

        const { status, headers } = await stack.call(name, { ...request, as, headers: { Origin: panelOrigin } });

        expect(status).toBe(200);
        expect(headers.get("access-control-allow-origin")).toBe(panelOrigin);
        expect(headers.get("access-control-allow-credentials")).toBe("true");
        expect(headers.get("access-control-expose-headers")).toBe(
          "Age, Content-Location, ETag, Invalid-Parameters, Link, Location, Missing-Permission, Preference-Applied, " +
            "Retry-After, x-amzn-RequestId",
        );
      });
    }
  });

  describe("The cookie", () => {
    /** The statuses by header lines with these values, whatever the case of the header's name. */
    const statusesOf = async (values: readonly string[]) => {
      const { token } = await anAdministrator(stack.sql);
      const send = (header: string) =>
        rawStatus(
          "/admin-permissions",
          values.map((value) => `${header}: ${value.replaceAll("%", token)}`),
        );
      return [await send("Cookie"), await send("cookie")];
    };

    it.each([
      { where: "alone", cookies: ["refreshToken=%"] },
      { where: "between others", cookies: ["a=1; refreshToken=%; b=2"] },
      { where: "before another of its name", cookies: ["refreshToken=%; refreshToken=junk"] },
      { where: "in a header line between others", cookies: ["a=1", "refreshToken=%", "b=2"] },
      { where: "behind another in the last header line", cookies: ["a=1", "b=2; refreshToken=%"] },
      { where: "in a header line before another of its name", cookies: ["refreshToken=%", "refreshToken=junk"] },
    ])("returns 200 where the token is $where", async ({ cookies }) => {
      expect(await statusesOf(cookies)).toEqual([200, 200]);
    });

    it.each([
      { where: "in quotation marks", cookies: ['refreshToken="%"'] },
      { where: "behind another of its name", cookies: ["refreshToken=junk; refreshToken=%"] },
      { where: "in a longer name", cookies: ["xrefreshToken=%"] },
      { where: "in a name of lower case", cookies: ["refreshtoken=%"] },
      { where: "in a name with a capital", cookies: ["RefreshToken=%"] },
      { where: "empty", cookies: ["refreshToken="] },
      { where: "missing", cookies: ["refreshToken"] },
      { where: "in the value of another cookie", cookies: ["other=refreshToken=%"] },
      { where: "in a header line behind another of its name", cookies: ["refreshToken=junk", "refreshToken=%"] },
    ])("returns 401 where the token is $where", async ({ cookies }) => {
      expect(await statusesOf(cookies)).toEqual([401, 401]);
    });

    it("is read from events without multi-value headers, too", async () => {
      const { token } = await anAdministrator(stack.sql);
      const event = { httpMethod: "GET", path: "/", headers: { cookie: `refreshToken=${token}` }, requestContext: {} };

      expect(await stack.lambda.invoke("admin-permissions-list", event)).toMatchObject({ result: { statusCode: 200 } });
    });

    it("is the only place for the token", async () => {
      const { token } = await anAdministrator(stack.sql);

      const { status } = await stack.call("admin-permissions/list", {
        query: { refreshToken: token },
        headers: { Authorization: `Bearer ${token}`, refreshToken: token, "X-Refresh-Token": token },
      });

      expect(status).toBe(401);
    });
  });

  describe("A session", () => {
    it("is never logged", async () => {
      const { token } = await holderOf(stack.sql, "view-roles");
      const list = () => stack.call("admin-roles/list", { as: token });
      const log = vi.spyOn(console, "log");

      const listed = await list();
      const failed = await whileDatabaseFails(stack, list);

      const lines = log.mock.calls.map(String);
      log.mockRestore();
      expect([listed.status, failed.status]).toEqual([200, 500]);
      expect(lines).toContainEqual(expect.stringContaining('"level":"info"'));
      expect(lines).toContainEqual(expect.stringContaining('"level":"error"'));
      expect(lines.filter((line) => line.includes(token))).toEqual([]);
    });

    it("is stored only as a hash", async () => {
      const { token } = await aUser(stack.sql);

      const kept = await stack.sql`select refresh_tokens::text as row from refresh_tokens`;

      expect(kept.filter(({ row }) => row.includes(token))).toEqual([]);
    });
  });

  /** Sends these lines as they are: HTTP clients would join cookies. */
  async function rawStatus(path: string, lines: readonly string[]): Promise<number> {
    const { hostname, port } = new URL(stack.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      [`GET ${path} HTTP/1.1`, `Host: ${hostname}:${port}`, "Connection: close", ...lines, "", ""].join("\r\n"),
    );
    const [, status] = /^HTTP\/1\.1 (\d+)/.exec(await text(socket)) ?? [];
    return Number(status);
  }
}
