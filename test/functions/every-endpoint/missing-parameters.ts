import { describe, expect, it } from "vitest";
import { isPublic, routesOf } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import type { Caller } from "../../support/callers.ts";
import { forbidden, missingParameters, unauthorized } from "../../support/envelope.ts";
import { panelOrigin } from "../../support/environment.ts";
import type { Stack } from "../../support/stack.ts";

/* A path that ends before its parameter (lib/contract/README.md, "Bad input"). */

export function testMissingParameters(stack: Stack, administrator: Caller): void {
  const shorter = endpoints.flatMap((each) =>
    routesOf(each)
      .slice(1)
      .flatMap((path) => [path, `${path}/`])
      .map((path) => [each.method, path, each] as const),
  );
  const cookie = () => ({ Cookie: `refreshToken=${administrator.token}` });

  describe("A path without its parameter", () => {
    it("exists for each endpoint with a path parameter", () => {
      expect(shorter).toHaveLength(2 * 23);
    });

    it.each(shorter)(
      "is 400 by the endpoint itself, after its 401 and 403: %s %s",
      async (method, path, declaration) => {
        const { permission, takesEditLock } = declaration;
        const send = async (headers: Readonly<Record<string, string>>) => {
          const response = await fetch(stack.url + path, { method, headers: { Origin: panelOrigin, ...headers } });
          return [response.status, await response.json(), response.headers.get("Access-Control-Allow-Origin")];
        };
        const allowed = isPublic(declaration) ? "*" : panelOrigin;

        if (permission) expect(await send({})).toEqual([401, unauthorized, allowed]);
        if (permission && (method !== "GET" || takesEditLock))
          expect(await send({ ...cookie(), Origin: "https://other.example.com" })).toEqual([403, forbidden, null]);
        expect(await send(cookie())).toEqual([400, missingParameters, allowed]);
      },
    );
  });

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
}
