import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Declaration, endpointPath, isPublic, routesOf } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { anAdministrator } from "../../support/people.ts";
import type { UploadStack } from "../../support/uploads.ts";

/* HEAD, over HTTP: what a GET would say, without what it would give (RFC 9110, "HEAD"). */

export function testHead(stack: UploadStack): void {
  async function ask(method: string, path: string, headers: Readonly<Record<string, string>> = {}) {
    const response = await fetch(stack.url + path, { method, headers: { "Accept-Encoding": "identity", ...headers } });
    return { status: response.status, headers: describing(response.headers), body: await response.text() };
  }

  /** What differs from answer to answer, and what tells of a body that is on its way. */
  const passing = ["connection", "content-length", "date", "keep-alive", "transfer-encoding", "x-amzn-requestid"];
  const describing = (headers: Headers) => Object.fromEntries([...headers].filter(([name]) => !passing.includes(name)));

  /** The URL of an endpoint's sample event. */
  async function sampleOf(declaration: Declaration): Promise<string> {
    const file = join(import.meta.dirname, "../../../events", `${endpointPath(declaration)}.json`);
    const { path, queryStringParameters } = JSON.parse(await readFile(file, "utf8"));
    return `${path}?${new URLSearchParams(queryStringParameters ?? {})}`;
  }

  const open = endpoints.filter(isPublic);
  const guarded = endpoints.filter((each) => !isPublic(each));

  describe.each(open.map((each) => [each.path, each] as const))("HEAD %s", (_, declaration) => {
    it("answers 200 with the headers of its GET and without a body", async () => {
      const path = await sampleOf(declaration);

      const { body, ...shown } = await ask("GET", path, { Origin: "https://anyone.example" });
      const head = await ask("HEAD", path, { Origin: "https://anyone.example" });

      expect([shown.status, body.length > 0]).toEqual([200, true]);
      expect(head.headers).toHaveProperty("cache-control");
      expect(head).toEqual({ ...shown, body: "" });
    });

    it("is allowed by the preflight beside GET", async () => {
      const { headers } = await ask("OPTIONS", declaration.path.replace(/\{\w+\}/, "1"));

      expect(headers).toHaveProperty("access-control-allow-methods", "GET,HEAD");
    });

    it("answers errors like its GET", async () => {
      const wrong = `${declaration.path.replace(/\{\w+\}/, "nothing-of-this-name")}?limit=-1`;
      for (const path of [wrong, ...routesOf(declaration)]) {
        const { body: _, ...refused } = await ask("GET", path);

        expect(await ask("HEAD", path)).toEqual({ ...refused, body: "" });
      }
    });
  });

  describe("HEAD of a record", () => {
    it.each(
      open.filter((each) => "record" in each.response && !each.notCacheable).map((each) => [each.path, each] as const),
    )("answers 304 to whoever has it already: %s", async (_, declaration) => {
      const path = await sampleOf(declaration);
      const { headers } = await ask("HEAD", path);

      expect(await ask("HEAD", path, { "If-None-Match": headers.etag ?? "" })).toMatchObject({ status: 304, body: "" });
    });
  });

  describe("HEAD of a list", () => {
    it.each(open.filter((each) => "list" in each.response).map((each) => [each.path, each] as const))(
      "reads nothing: %s",
      async (_, declaration) => {
        const path = await sampleOf(declaration);
        stack.dataApi.calls.length = 0;

        expect(await ask("HEAD", path)).toMatchObject({ status: 200, body: "" });
        expect(stack.dataApi.calls).toEqual([]);
      },
    );
  });

  describe("HEAD of an administrative endpoint", () => {
    it.each(guarded.flatMap((each) => routesOf(each).map((path) => [path, each.method] as const)))(
      "is nowhere, and does nothing: %s, where there is %s",
      async (path) => {
        const { token } = await anAdministrator(stack.sql);
        stack.dataApi.calls.length = 0;

        const head = await ask("HEAD", path.replace(/\{\w+\}/, "1"), { Cookie: `refreshToken=${token}` });

        expect(head).toMatchObject({ status: 404, body: "" });
        expect(stack.dataApi.calls).toEqual([]);
      },
    );
  });
}
