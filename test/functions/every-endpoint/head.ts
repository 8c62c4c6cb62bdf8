import { describe, expect, it } from "vitest";
import { isPublic, routesOf } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import type { Person } from "../../support/people.ts";
import { sampleUrl } from "../../support/samples.ts";
import type { UploadStack } from "../../support/uploads.ts";

/** HEAD, over HTTP: the headers of a GET, without its body (RFC 9110, "HEAD"). */
export function testHead(stack: UploadStack, administrator: Person): void {
  /** What differs from response to response, and what only a body needs. */
  const passing = ["connection", "content-length", "date", "keep-alive", "transfer-encoding", "x-amzn-requestid"];

  async function send(method: string, path: string, headers: Readonly<Record<string, string>> = {}) {
    stack.dataApi.calls.length = 0;
    const response = await fetch(stack.url + path, { method, headers: { "Accept-Encoding": "identity", ...headers } });
    const shown = [...response.headers].filter(([name]) => !passing.includes(name));
    return { status: response.status, headers: Object.fromEntries(shown), body: await response.text() };
  }

  const open = endpoints.filter(isPublic);
  const guarded = endpoints.filter((each) => !isPublic(each));

  describe.each(open.map((each) => [each.path, each] as const))("HEAD %s", (_, declaration) => {
    it("returns 200 with the headers of its GET and without a body", async () => {
      const path = await sampleUrl(declaration);

      const { body, ...shown } = await send("GET", path, { Origin: "https://anyone.example" });
      const head = await send("HEAD", path, { Origin: "https://anyone.example" });

      expect([shown.status, body.length > 0]).toEqual([200, true]);
      expect(head.headers).toMatchObject({
        "access-control-allow-origin": "*",
        "access-control-expose-headers": "Age, Content-Location, ETag, Location, Retry-After, x-amzn-RequestId",
        "cache-control": expect.any(String),
        "x-content-type-options": "nosniff",
      });
      expect(head.headers).not.toHaveProperty("access-control-allow-credentials");
      expect(head).toEqual({ ...shown, body: "" });
      // The number of records is not needed.
      if ("list" in declaration.response) expect(stack.dataApi.calls).toEqual([]);
    });

    it("is allowed by the preflight beside GET", async () => {
      const { headers } = await send("OPTIONS", declaration.path.replace(/\{\w+\}/, "1"));

      expect(headers).toHaveProperty("access-control-allow-methods", "GET,HEAD");
    });

    it("returns errors like its GET", async () => {
      const wrong = `${declaration.path.replace(/\{\w+\}/, "nothing-of-this-name")}?limit=-1`;
      for (const path of [wrong, ...routesOf(declaration)]) {
        const { body: _, ...refused } = await send("GET", path);

        expect(await send("HEAD", path)).toEqual({ ...refused, body: "" });
      }
    });

    it.runIf("record" in declaration.response && !declaration.notCacheable)("returns 304 to a known ETag", async () => {
      const path = await sampleUrl(declaration);
      const { headers } = await send("HEAD", path);

      const again = await send("HEAD", path, { "If-None-Match": headers.etag ?? "" });
      expect(again).toMatchObject({ status: 304, body: "" });
    });
  });

  it.each(guarded.flatMap((each) => routesOf(each).map((path) => [path, each.method] as const)))(
    "HEAD of an administrative endpoint is nowhere, and does nothing: %s, where there is %s",
    async (path) => {
      const head = await send("HEAD", path.replace(/\{\w+\}/, "1"), { Cookie: `refreshToken=${administrator.token}` });

      expect([head.status, head.body]).toEqual([404, ""]);
      expect(stack.dataApi.calls).toEqual([]);
    },
  );
}
