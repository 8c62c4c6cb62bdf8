import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runFaults } from "../bench/faults-run.ts";
import { startUploads, type UploadStack } from "../support/uploads.ts";

let stack: UploadStack;

beforeAll(async () => {
  stack = await startUploads();
});

afterAll(() => stack.close());

describe("400 reads, writes and image updates", () => {
  it("are answered, and done once, although three in ten calls to database and S3 fail", async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);

    const { answers, calls, faults, ...wrong } = await runFaults(stack, { requests: 400, seed });

    expect({ seed, ...wrong }).toEqual({
      seed,
      lost: 0,
      doubled: 0,
      half: 0,
      refused: 0,
      failed: 0,
      early: 0,
      dangling: 0,
      orphaned: 0,
      examples: [],
    });
    expect(answers[200]).toBeGreaterThan(390);
    expect(faults / calls).toBeGreaterThan(0.2);
  }, 120_000);
});
