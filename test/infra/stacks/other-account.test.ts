import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { settings } from "../../../infra/stages.ts";
import { useSynthesis } from "./synthesis.ts";

/* The CDK's own command line with credentials of another account; AWS is a server of the test. */

const other = "210987654321";
const root = join(import.meta.dirname, "../../..");
const synthesis = useSynthesis();

/** Whose credentials these are, and whether they may act for the account; neither changes anything. */
const asking = ["GetCallerIdentity", "AssumeRole"];

const identity = `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>
  <Arn>arn:aws:iam::${other}:user/ada</Arn><UserId>AIDA</UserId><Account>${other}</Account>
</GetCallerIdentityResult></GetCallerIdentityResponse>`;
const denied = `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error>
  <Type>Sender</Type><Code>AccessDenied</Code><Message>not authorized to perform: sts:AssumeRole</Message>
</Error></ErrorResponse>`;

let home: string;
let calls: string[] = [];
const aws = createServer(async (request, response) => {
  const action = new URLSearchParams(await text(request)).get("Action") ?? `${request.method} ${request.url}`;
  calls.push(action);
  const isIdentity = action === "GetCallerIdentity";
  response.writeHead(isIdentity ? 200 : 403, { "content-type": "text/xml" }).end(isIdentity ? identity : denied);
});

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "colophon-cdk-"));
  await new Promise<void>((resolve) => aws.listen(0, "127.0.0.1", resolve));
});

afterAll(async () => {
  aws.close();
  await rm(home, { recursive: true });
});

/** What the command line says before it gives up. */
async function cdk(...command: string[]): Promise<string> {
  calls = [];
  const { port } = aws.address() as AddressInfo;
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: home,
    AWS_ENDPOINT_URL: `http://127.0.0.1:${port}`,
    AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
    AWS_SECRET_ACCESS_KEY: "example",
    AWS_REGION: "us-east-1",
    CDK_DISABLE_CLI_TELEMETRY: "true",
  };
  const flags = ["--app", synthesis.directory, "--no-notices", "--no-color"];
  return await new Promise((resolve, reject) => {
    execFile(join(root, "node_modules/.bin/cdk"), [...command, ...flags], { env, cwd: home }, (error, out, err) => {
      if (error) resolve(`${out}${err}`);
      else reject(new Error(`cdk ${command.join(" ")} went through: ${out}`));
    });
  });
}

describe("With credentials of another account", () => {
  it("nothing is deployed", async () => {
    const said = await cdk("deploy", "colophon-account", "--require-approval", "never");

    expect(said).toContain(
      `Could not assume role in target account using current credentials (which are for account ${other})`,
    );
    expect(calls).toContain("AssumeRole");
    expect(calls.filter((each) => !asking.includes(each))).toEqual([]);
  });

  it("no account is prepared", async () => {
    const said = await cdk("bootstrap");

    expect(said).toContain(
      `Need to perform AWS calls for account ${settings.account.id}, but the current credentials are for ${other}`,
    );
    expect(calls.filter((each) => !asking.includes(each))).toEqual([]);
  });
});
