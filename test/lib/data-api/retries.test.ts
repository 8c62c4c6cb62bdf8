import { describe, expect, it } from "vitest";
import type { Fault } from "../../../infra/aws-local/test/data-api.ts";
import { useAdministrator } from "../../support/callers.ts";
import { envelope } from "../../support/envelope.ts";
import { useStack } from "../../support/stack.ts";
import { broken } from "../../support/unchanged.ts";

const timeoutInMilliseconds = 5_000;
// A function keeps 5 s of its time for itself.
const limit = timeoutInMilliseconds + 5_000;
const stack = useStack({ timeouts: { bufferedInMilliseconds: limit, longInMilliseconds: limit } });
const administrator = useAdministrator(stack);

const refused = (type: string, message = "", status = 400): Fault => ({ kind: "error", status, type, message });
const failed = (state: string): Fault => refused("DatabaseErrorException", `ERROR: sorry; SQLState: ${state}`);

const late = "Signature expired: 20261122T185948Z is now earlier than 20261122T190448Z";
const transientStates = "08006 28P01 28000 53300 57P01 57P02 57P03 55P03 40001 40P01 25006".split(" ");
const transient: Readonly<Record<string, Fault>> = {
  "500": refused("InternalServerErrorException", "", 500),
  "503": { kind: "503" },
  "504": refused("DatabaseUnavailableException", "", 504),
  "500 after it ran": { kind: "error-after", status: 500, type: "InternalServerErrorException" },
  "a broken connection": { kind: "drop-before" },
  "a connection broken after it ran": { kind: "drop-after" },
  "a response that breaks off": { kind: "cut-body" },
  throttling: { kind: "throttle" },
  "too many requests": refused("TooManyRequestsException", "", 429),
  "a cluster that resumes": refused("DatabaseResumingException", "The Aurora DB instance db-X is resuming"),
  "a cluster that is being changed": refused("InvalidResourceStateException"),
  "a password that changes": refused("InvalidSecretException"),
  "a signature of a clock that is late": refused("InvalidSignatureException", late, 403),
  "a connection lost behind the Data API": refused("BadRequestException", "Communications link failure"),
  "a connection closed behind the Data API": refused("BadRequestException", "This connection has been closed."),
  "a login that fails behind the Data API": refused("BadRequestException", "FATAL: sorry; SQLState: 28P01"),
  "a statement that took too long": refused("StatementTimeoutException"),
  ...Object.fromEntries(transientStates.map((state) => [`SQLSTATE ${state}`, failed(state)])),
};
const permanent: Readonly<Record<string, Fault>> = {
  "an error of the database": broken,
  "a statement that was cancelled": failed("57014"),
  "a statement it does not understand": refused("ValidationException"),
  "a request it does not understand": refused("BadRequestException", "Database name is not provided"),
  "a role that may not": refused("AccessDeniedException", "", 403),
  "a signature of a wrong key": refused("InvalidSignatureException", "The request signature does not match", 403),
  "a cluster that is not there": refused("DatabaseNotFoundException", "", 404),
};

/** Lets the first calls fail and the others pass. */
function failing(fault: Fault, times: number): void {
  stack.dataApi.calls.length = 0;
  stack.dataApi.intercept(({ number }) => (number <= times ? fault : undefined));
}

const read = () => stack.call("contributors/list", { query: { client: 1 } });
let additions = 0;
const write = () =>
  administrator.call("admin-roles/add", { body: { name: `Added ${++additions}`, description: "By a test" } });
const written = async () => (await stack.sql`select from roles where name = ${`Added ${additions}`}`).length;

describe("A statement", () => {
  it.each(Object.entries(transient))("is sent until there is a response, and done once, after %s", async (_, fault) => {
    failing(fault, 2);
    expect((await read()).status).toBe(200);
    expect(stack.dataApi.calls.length).toBe(3);

    failing(fault, 2);
    expect((await write()).status).toBe(200);
    // An attempt that comes late because the machine stood still is sent again.
    expect(stack.dataApi.calls.length).toBeGreaterThanOrEqual(3);
    expect(await written()).toBe(1);
  });

  it.each(Object.entries(permanent))("is sent once after %s", async (_, fault) => {
    failing(fault, 1);
    expect((await read()).body).toEqual(envelope(500, "Internal server error"));

    failing(fault, 1);
    expect((await write()).body).toEqual(envelope(500, "Internal server error"));
    expect(stack.dataApi.calls.length).toBe(1);
    expect(await written()).toBe(0);
  });

  it("is sent again at once after idle connections were reset", async () => {
    for (let turn = 0; turn < 10; turn++) {
      stack.dataApi.resetConnections();
      expect((await write()).status).toBe(200);
      expect(await written()).toBe(1);
    }
  });

  const isKnown = ({ kind, ...fault }: Fault) =>
    kind === "throttle" ||
    ("type" in fault && /Resuming|InvalidSecret|InvalidSignature|SQLState: (?!08|57P)/.test(JSON.stringify(fault)));
  it.each([
    {
      what: "a read",
      call: read,
      faults: () => true,
      message: "Service unavailable, try again in a few seconds",
    },
    {
      what: "a change that may have been made",
      call: write,
      faults: () => true,
      message: "Service unavailable, try again in a few seconds",
    },
    {
      what: "a change that was not made",
      call: write,
      faults: isKnown,
      message: "Service unavailable, nothing was changed",
    },
  ])("returns 503 with Retry-After to $what when faults outlast the visitor", async ({ call, faults, message }) => {
    const all = Object.values(transient).filter((fault) => !/after|cut/.test(fault.kind) && faults(fault));
    stack.dataApi.intercept(({ number }) => all[number % all.length]);
    const start = Date.now();

    const { body, headers } = await call();

    expect(body).toEqual(envelope(503, message));
    expect(headers.get("retry-after")).toBe("5");
    expect(Date.now() - start).toBeGreaterThan(timeoutInMilliseconds / 3);
    expect(Date.now() - start).toBeLessThan(timeoutInMilliseconds + 4_000);
    // Pauses grow, so a service in trouble does not get many more requests than the visitor sends.
    expect(stack.dataApi.calls.length).toBeLessThan(15);
    if (call === write) expect(await written()).toBe(0);
  });
});
