import { describe, expect, it } from "vitest";
import { type Declaration, isPublic, routesOf } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { forbidden, missingParameters, unauthorized } from "../../support/envelope.ts";
import { panelOrigin } from "../../support/environment.ts";
import type { Person } from "../../support/people.ts";
import type { UploadStack } from "../../support/uploads.ts";

/* A path that ends before its parameter (lib/contract/README.md, "Bad input"). */

export function testMissingParameters(stack: UploadStack, administrator: Person): void {
  async function ask(url: string, { method }: Declaration, path: string, token?: string, origin = panelOrigin) {
    const headers = { Origin: origin, ...(token ? { Cookie: `refreshToken=${token}` } : {}) };
    const response = await fetch(url + path, { method, headers });
    const allowed = response.headers.get("Access-Control-Allow-Origin");
    return { status: response.status, body: await response.json(), allowed };
  }

  const shorter = endpoints.flatMap((each) =>
    routesOf(each)
      .slice(1)
      .flatMap((path) => [path, `${path}/`])
      .map((path) => [each.method, path, each] as const),
  );

  describe("A path without its parameter", () => {
    it("exists for each endpoint with a path parameter", () => {
      expect(shorter).toHaveLength(2 * 23);
    });

    it.each(shorter)("is answered 400 by the endpoint itself: %s %s", async (_, path, declaration) => {
      const allowed = isPublic(declaration) ? "*" : panelOrigin;
      if (declaration.permission)
        expect(await ask(stack.url, declaration, path)).toEqual({ status: 401, body: unauthorized, allowed });

      expect(await ask(stack.url, declaration, path, administrator.token)).toEqual({
        status: 400,
        body: missingParameters,
        allowed,
      });
    });

    const changing = shorter.filter(
      ([method, , { permission, takesEditLock }]) => permission && (method !== "GET" || takesEditLock),
    );

    it.each(changing)("is 403 for a page of another origin: %s %s", async (_, path, declaration) => {
      const { status, body } = await ask(
        stack.url,
        declaration,
        path,
        administrator.token,
        "https://other.example.com",
      );

      expect([status, body]).toEqual([403, forbidden]);
    });
  });

  it.each([
    "/contributor/slug/nobody/",
    "/contributors/?client=1&search=nobody",
    "/contributors/",
    "/admin-users/id/0/",
  ])("A slash at the end changes nothing: %s", async (path) => {
    const headers = { Cookie: `refreshToken=${administrator.token}` };
    const [one, other] = await Promise.all(
      [path, path.replace(/\/(?=$|\?)/, "")].map((each) => fetch(stack.url + each, { headers })),
    );

    expect([one?.status, await one?.text()]).toEqual([other?.status, await other?.text()]);
  });
}
