import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { RDSDataClient } from "@aws-sdk/client-rds-data";
import sql from "sql-template-tag";
import { describe, expect, it, vi } from "vitest";

/** The SDK lists a middleware as "name - step". */
const namesOf = ({ middlewareStack }: RDSDataClient) =>
  middlewareStack.identify().map((each) => each.replace(/ .*/, ""));

describe("The client of the Data API", () => {
  it("lacks exactly the middleware that it removes by the SDK's names", async () => {
    const { client, unusedMiddleware } = await import("../../../lib/data-api/client.ts");
    const all = namesOf(new RDSDataClient({ region: "eu-central-1" }));

    expect(all).toEqual(expect.arrayContaining(unusedMiddleware));
    expect(namesOf(client)).toEqual(all.filter((name) => !unusedMiddleware.includes(name)));
  });

  it("signs each call with the credentials and the region of the environment", async () => {
    const received: IncomingHttpHeaders[] = [];
    const server = createServer((request, response) => {
      received.push(request.headers);
      request.resume().once("end", () => response.end("{}"));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    vi.stubEnv("AWS_ENDPOINT_URL_RDS_DATA", `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    vi.stubEnv("AWS_REGION", "eu-west-3");
    vi.stubEnv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
    vi.resetModules();
    const { client, send } = await import("../../../lib/data-api/client.ts");

    await send(sql`select 1`);
    await send(sql`select 1`);

    client.destroy();
    server.close();
    vi.unstubAllEnvs();
    const signed = expect.stringMatching(/Credential=AKIDEXAMPLE\/\d{8}\/eu-west-3\/rds-data\/aws4_request/);
    expect(received).toMatchObject([{ authorization: signed }, { authorization: signed }]);
  });
});
