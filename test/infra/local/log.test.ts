import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { runningPostgres } from "../../../infra/aws-local/postgres/cluster.ts";
import { readable } from "../../../infra/local/log.ts";
import { openDatabase } from "../../support/database.ts";
import { startProcess } from "../../support/service-process.ts";

const time = new Date(2026, 10, 22, 18, 5, 9).toISOString();
const line = (fields: object) => readable(JSON.stringify({ time, requestId: "r-1", ...fields }));

describe("A log line in a terminal", () => {
  it("of a request is one short line", () => {
    const fields = { endpoint: "admin-roles-list", path: "/admin-roles", callerId: 7, cold: true };

    expect(line({ level: "info", ...fields, status: 200, durationInMilliseconds: 12.3 })).toBe(
      "18:05:09 200 /admin-roles 12.3 ms",
    );
  });

  it("of an error has the traces of error and cause below", () => {
    const cause = { name: "TypeError", message: "deep", stack: "TypeError: deep\n    at query (lib/b.ts:2:2)" };
    const error = {
      name: "Error",
      message: "top\nmore",
      stack: "Error: top\nmore\n    at serve (lib/a.ts:1:1)\n    at async f (/x/node_modules/y.js:1:1)",
      cause,
    };

    expect(line({ level: "error", endpoint: "admin-roles-edit", status: 500, response: "Internal", error })).toBe(
      [
        "18:05:09 error 500 admin-roles-edit Error: top (request r-1)",
        "    more",
        "    at serve (lib/a.ts:1:1)",
        "    caused by TypeError: deep",
        "    at query (lib/b.ts:2:2)",
      ].join("\n"),
    );
  });

  it("of a function that fails, as Lambda logs it, has its trace below", () => {
    const error = { errorType: "RangeError", errorMessage: "too far", trace: ["RangeError: too far", "    at here"] };

    expect(line({ level: "error", function: "ops-tidy", ...error })).toBe(
      "18:05:09 error ops-tidy RangeError: too far (request r-1)\n    at here",
    );
  });

  it("stays short, and has a long message below", () => {
    const message = "x".repeat(500);

    const [head = "", below] = line({ level: "warn", endpoint: "publishers-list", error: { message } }).split("\n");

    expect(head).toMatch(/^18:05:09 warn publishers-list Error: x+… \(request r-1\)$/);
    expect(head.length).toBeLessThan(220);
    expect(below).toBe(`    ${message}`);
  });

  it("has other fields by their names", () => {
    expect(line({ level: "info", endpoint: "ops-tidy", ledgerBytesOfLastDay: 3 })).toBe(
      "18:05:09 ops-tidy ledgerBytesOfLastDay=3",
    );
  });

  it.each(["plain text", "[1]", '{"a":1}', "{", "null"])("that is %s stays as it is", (text) => {
    expect(readable(text)).toBe(text);
  });
});

describe("npm start, when a request fails", () => {
  it("prints a short line for each request, and the trace, in a terminal", async () => {
    const terminal = { NODE_OPTIONS: "--import=data:text/javascript,process.stdout.isTTY=true" };
    const service = await startProcess({ flags: ["--empty"], env: terminal });
    onTestFinished(() => service.stop());
    const sql = openDatabase(`${await runningPostgres(join(service.directory, "postgres"))}/colophon`, { max: 1 });
    await sql`drop table publishers cascade`;
    await sql.end();
    service.forget();
    expect((await fetch(`${service.url}/nowhere?token=secret`)).status).toBe(404);
    expect((await fetch(`${service.url}/publishers`)).status).toBe(500);
    await expect.poll(service.output).toMatch(/500 GET \/publishers.*\n/);

    const [gateway, head, ...below] = service.output().trimEnd().split("\n");

    expect(gateway).toMatch(/^\d\d:\d\d:\d\d 404 GET \/nowhere [\d.]+ ms$/);
    expect(head).toMatch(
      /^\d\d:\d\d:\d\d error 500 publishers-list DatabaseErrorException: ERROR: relation "publishers" does not exist/,
    );
    expect(below).toContainEqual(expect.stringMatching(/^ {4}at .*lib\/data-api\/client\.ts:\d+:\d+\)?$/));
    expect(below.filter((line) => line.includes(" ms"))).toEqual([
      expect.stringMatching(/^\d\d:\d\d:\d\d 500 GET \/publishers [\d.]+ ms$/),
    ]);
  });
});
