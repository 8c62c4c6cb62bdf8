import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { queryOf } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { expectDeclared } from "../../support/contract.ts";
import { invalidParameter, missingParameters } from "../../support/envelope.ts";
import { panelOrigin } from "../../support/environment.ts";
import type { Person } from "../../support/people.ts";
import { eventOf } from "../../support/samples.ts";
import type { UploadStack } from "../../support/uploads.ts";

/* A query parameter that comes twice (lib/contract/README.md, "Bad input"). */

export function testRepeatedParameters(stack: UploadStack, administrator: Person): void {
  const parameters = endpoints
    .filter(({ needsSignIn }) => !needsSignIn)
    .flatMap((declaration) =>
      Object.entries(queryOf(declaration)).map(
        ([name, schema]) => [declaration.path, name, declaration, schema] as const,
      ),
    );

  describe("A query parameter that comes twice", () => {
    it.each(parameters)("cannot be read: %s, %s", async (_, name, declaration, schema) => {
      const { path, queryStringParameters, headers, body: sample = null } = await eventOf(declaration);
      const { [name]: value = name === "order" ? "name-asc" : "1", ...others } = queryStringParameters ?? {};
      const query = new URLSearchParams(others);
      const encoded = `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`;
      const isRequired = !z.safeParse(schema, undefined).success;

      for (const twice of [
        `${name}=${value}&${name}=${value}`,
        `${name}=${value}&${name}`,
        `${name};${encoded}=${value}`,
      ]) {
        const response = await fetch(`${stack.url}${path}?${query}&${twice}`, {
          method: declaration.method,
          headers: { ...headers, Origin: panelOrigin, Cookie: `refreshToken=${administrator.token}` },
          body: sample,
        });
        const body = await response.json();
        expect([twice, body]).toEqual([twice, isRequired ? missingParameters : invalidParameter(name)]);
        expectDeclared(declaration, response.status, body);
      }
    });

    it("is ignored if the interface does not name it", async () => {
      const response = await fetch(`${stack.url}/contributors?client=1&limit=1&page=1&page=2&LIMIT=3&LIMIT=4`);

      expect(await response.json()).toMatchObject({ from: 0, to: 1 });
    });
  });
}
