import { describe, expect, it } from "vitest";
import { endpointPath } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { envelope, missingParameters, unauthorized } from "../../support/envelope.ts";
import type { Person } from "../../support/people.ts";
import type { UploadStack } from "../../support/uploads.ts";

export function testBodySize(stack: UploadStack, administrator: Person): void {
  const megabyte = 1_048_576;
  const bodyOf = (bytes: number) => `{"unknown":"${"é".repeat((bytes - 14) / 2)}"}`;

  const withBody = endpoints.filter(({ body, needsFileService }) => body && !needsFileService).map(endpointPath);
  const withImage = endpoints.filter(({ body, needsFileService }) => body && needsFileService).map(endpointPath);

  describe("A body", () => {
    it.each(withBody)("without an image has at most 1 MB: %s", async (name) => {
      const send = (bytes: number, token?: string) =>
        stack.call(name, { as: token, path: { id: 1 }, body: bodyOf(bytes) });

      expect(Buffer.byteLength(bodyOf(megabyte))).toBe(megabyte);
      expect((await send(megabyte, administrator.token)).body).toEqual(missingParameters);
      expect((await send(megabyte + 2, administrator.token)).body).toEqual(envelope(413, "Request too long"));
      expect((await send(megabyte + 2)).body).toEqual(unauthorized);
    });

    it.each(withImage)("with an image may have more: %s", async (name) => {
      const body = { image: "A".repeat(2 * megabyte) };

      expect((await stack.call(name, { as: administrator.token, path: { id: 987_654 }, body })).status).toBe(404);
    });

    it.each([...withBody, ...withImage])(
      "is read up to 16 KB before the session is known, and no further: %s",
      async (name) => {
        const send = (length: number, token: string) =>
          stack.call(name, { as: token, path: { id: 1 }, body: "[".repeat(length) });

        expect((await send(16_384, "made-up")).body).toEqual(missingParameters);
        expect((await send(16_385, "made-up")).body).toEqual(unauthorized);
        expect((await send(16_385, administrator.token)).body).toEqual(missingParameters);
      },
    );

    it("may have any size at an endpoint that reads none", async () => {
      const reply = await stack.call("admin-roles/delete", {
        as: administrator.token,
        path: { id: 0 },
        body: bodyOf(2 * megabyte),
      });

      expect(reply.body).toEqual(envelope(404, "Role not found"));
    });
  });
}
