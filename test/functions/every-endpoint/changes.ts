import { randomUUID } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { commonFaults } from "../../../infra/aws-local/test/data-api.ts";
import { endpointPath } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { isRepeatable, isVersioned } from "../../../lib/contract/headers.ts";
import type { Caller } from "../../support/callers.ts";
import { identifier } from "../../support/database.ts";
import { envelope } from "../../support/envelope.ts";
import { requestFor, tableOf } from "../../support/requests.ts";
import { numbers, seed } from "../../support/seed.ts";
import { unchanged } from "../../support/unchanged.ts";
import { latestChange } from "../../support/undo.ts";
import { expectAgreement, type UploadStack } from "../../support/uploads.ts";

/* Versions and keys of changes, and that each is done once (lib/contract/guide.md, "Lost responses"). */

export function testChanges(stack: UploadStack, administrator: Caller): void {
  const changes = endpoints.filter(isRepeatable).map((each) => [endpointPath(each), each] as const);
  /** Only locks are changed by it, so the ledger has nothing of it. */
  const isRecorded = (name: string) => !name.endsWith("/lock");
  const endpointsSince = async (change: number) =>
    (await stack.sql`select endpoint from changes where id > ${change}`).map(({ endpoint }) => endpoint);

  it.each(changes.filter(([, each]) => isVersioned(each)))(
    "%s is done only with the current version, where the request names one",
    async (name, declaration) => {
      const request = await requestFor(stack.sql, declaration);
      const shown = async () => {
        const { headers } = await administrator.call(name.replace(/\/.*/, "/id"), { path: request.path ?? {} });
        return headers.get("ETag");
      };
      const send = (version: string | null) =>
        administrator.call(name, { ...request, headers: { "If-Match": `${version}` } });
      const current = await shown();

      for (const other of ['"0"', `"${Number(current?.slice(1, -1)) + 1}"`])
        expect((await unchanged(stack, () => send(other))).body).toEqual(envelope(412, "Precondition failed"));
      expect((await send(current)).status).toBe(200);

      const next = await shown();
      if (isRecorded(name) && !name.endsWith("/logout")) expect(next).not.toBe(current);
      expect((await send(current)).status).toBe(next === current ? 200 : next ? 412 : 404);
    },
  );

  it.each(changes.filter(([name]) => isRecorded(name)))(
    "%s is done once under a key, and gets the same response again, also once the record is gone",
    async (name, declaration) => {
      const request = await requestFor(stack.sql, declaration);
      const headers = { "Idempotency-Key": randomUUID() };
      const latest = await latestChange(stack.sql);
      const send = async () => {
        const { status, body, headers: sent } = await administrator.call(name, { ...request, headers });
        return { status, body, location: sent.get("Location") };
      };

      const first = await send();

      expect(first.status).toBe(200);
      expect(await send()).toEqual(first);
      expect(await endpointsSince(latest)).toEqual([name]);
      const id = request.path?.id ?? Number(first.location?.split("/").at(-1));
      await stack.sql`delete from ${identifier(tableOf(declaration))} where id = ${id}`;
      expect(await send()).toEqual(first);
    },
  );

  describe("While three in ten calls to database and S3 fail", () => {
    const injected = { database: 0, files: 0 };
    const filesFaults = ["error-before", "error-after", "drop-before", "drop-after"] as const;
    const random = numbers(seed);
    const chooseFrom = <Kind>(kinds: readonly Kind[], service: keyof typeof injected): Kind | undefined => {
      if (random() > 0.3) return undefined;
      injected[service] += 1;
      return kinds[Math.floor(random() * kinds.length)];
    };

    beforeAll(async () => {
      for (const table of ["users", "contributors"]) await stack.sql`update ${identifier(table)} set image = null`;
    });

    beforeEach(() => {
      stack.dataApi.intercept(() => chooseFrom(commonFaults, "database"));
      stack.s3.intercept(() => chooseFrom(filesFaults, "files"));
    });

    it.each(changes)("%s succeeds, and is done once", async (name, declaration) => {
      const plan = await Promise.all(Array.from({ length: 6 }, () => requestFor(stack.sql, declaration)));
      const latest = await latestChange(stack.sql);

      const replies = await Promise.all(plan.map((request) => administrator.call(name, request)));

      expect(replies.map(({ status }) => status)).toEqual(plan.map(() => 200));
      expect(await endpointsSince(latest)).toEqual(isRecorded(name) ? plan.map(() => name) : []);
    });

    it.each(["contributors/list", "admin-users/list"])("%s succeeds", async (name) => {
      const query = { limit: 20, ...(name.startsWith("c") ? { client: 1 } : {}) };
      const replies = await Promise.all(Array.from({ length: 6 }, () => administrator.call(name, { query })));

      expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
    });

    it("every image that a record has is there, and no other", async () => {
      await expectAgreement(stack);
      for (const count of Object.values(injected)) expect(count).toBeGreaterThan(0);
    });
  });
}
