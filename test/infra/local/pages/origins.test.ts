import { beforeAll, describe, expect, it } from "vitest";
import { send } from "../../../../infra/aws-local/test/send.ts";
import { loopbackOrigins } from "../../../../infra/local/pages/origins.ts";
import { anAdministrator } from "../../../support/people.ts";
import { aRole } from "../../../support/records.ts";
import { useStack } from "../../../support/stack.ts";

const stack = useStack({ allowedOrigins: [...loopbackOrigins, "https://panel.example.com"] });

let administrator: { readonly token: string };

beforeAll(async () => {
  administrator = await anAdministrator(stack.sql);
});

describe("The origins of this machine", () => {
  it.each([
    ["http://localhost:5173", true],
    ["http://localhost", true],
    ["https://localhost:8443", true],
    ["http://127.0.0.1:4200", true],
    ["http://[::1]:8080", true],
    ["https://panel.example.com", true],
    ["http://localhost.example.com:5173", false],
    ["http://127.0.0.1.example.com", false],
    ["http://127.0.0.2:5173", false],
    ["http://192.0.2.1:5173", false],
    ["https://panel.example.com:5173", false],
    ["null", false],
  ])("include %s: %s, in the preflight and in the request itself", async (Origin, isIncluded) => {
    const { id } = await aRole(stack.sql);
    const allowed = "access-control-allow-origin";
    const headers = { Origin };

    const preflight = await send(stack.url, `/admin-roles/edit/${id}`, { method: "OPTIONS", headers });
    const request = { as: administrator.token, path: { id }, body: { name: `New ${id}` }, headers };
    const change = await stack.call("admin-roles/edit", request);

    expect([preflight.headers[allowed] ?? null, change.status, change.headers.get(allowed)]).toEqual(
      isIncluded ? [Origin, 200, Origin] : [null, 403, null],
    );
  });
});
