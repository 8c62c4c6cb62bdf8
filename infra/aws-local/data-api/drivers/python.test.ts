import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Emulator, key, startEmulator } from "../../test/emulator.ts";

/** A Python that has aurora-data-api: the last line of `.ci/aurora-data-api`. */
const python = process.env.AURORA_DATA_API_PYTHON ?? "";
let emulator: Emulator;

beforeAll(async () => {
  emulator = await startEmulator();
});

afterAll(() => emulator.stop());

describe.skipIf(python === "")("Python's aurora-data-api", () => {
  it("does what scenarios.py expects of it", async () => {
    const env = {
      AWS_ENDPOINT_URL_RDS_DATA: emulator.api.url,
      AWS_ACCESS_KEY_ID: key.accessKeyId,
      AWS_SECRET_ACCESS_KEY: key.secretAccessKey,
      AWS_DEFAULT_REGION: "eu-central-1",
      CLUSTER: emulator.target.resourceArn,
      SECRET: emulator.target.secretArn,
    };
    const { stdout } = await promisify(execFile)(python, [join(import.meta.dirname, "scenarios.py")], { env });

    expect(stdout).toMatch(/\nall as expected\n$/);
  });
});
