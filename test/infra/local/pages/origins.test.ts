import { describe, expect, it } from "vitest";
import { send } from "../../../../infra/aws-local/test/send.ts";
import { loopbackOrigins } from "../../../../infra/local/pages/origins.ts";
import { anAdministrator } from "../../../support/people.ts";
import { aRole } from "../../../support/records.ts";
import { useStack } from "../../../support/stack.ts";

const stack = useStack({ allowedOrigins: [...loopbackOrigins, "https://panel.example.com"] });

/** What a browser learns about a page of this origin, by its preflight and by the request itself. */
async function ask(Origin: string) {
  const { token } = await anAdministrator(stack.sql);
  const { id } = await aRole(stack.sql);
  const preflight = await send(stack.url, `/admin-roles/edit/${id}`, { method: "OPTIONS", headers: { Origin } });
  const path = { id };
  const change = await stack.call("admin-roles/edit", {
    as: token,
    path,
    body: { name: `New ${id}` },
    headers: { Origin },
  });
  return {
    preflight: preflight.headers["access-control-allow-origin"],
    status: change.status,
    readable: change.headers.get("access-control-allow-origin") ?? undefined,
  };
}

describe("The origins of this machine", () => {
  it.each([
    "http://localhost:5173",
    "http://localhost",
    "https://localhost:8443",
    "http://127.0.0.1:4200",
    "http://[::1]:8080",
    "https://panel.example.com",
  ])("include %s", async (origin) => {
    expect(await ask(origin)).toEqual({ preflight: origin, status: 200, readable: origin });
  });

  it.each([
    "http://localhost.example.com:5173",
    "http://panel.localhost.example.com",
    "http://127.0.0.1.example.com",
    "http://127.0.0.2:5173",
    "http://192.0.2.1:5173",
    "https://panel.example.com:5173",
    "null",
  ])("do not include %s", async (origin) => {
    expect(await ask(origin)).toEqual({ preflight: undefined, status: 403, readable: undefined });
  });
});
