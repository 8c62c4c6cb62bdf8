import { describe, expect, it } from "vitest";
import { seed } from "../../support/seed.ts";
import { useUploads } from "../../support/uploads.ts";
import { runFaults } from "./run.ts";

const stack = useUploads();

/** `COLOPHON_FAULT_REQUESTS=10000` for more. */
const requests = Number(process.env.COLOPHON_FAULT_REQUESTS ?? 400);

describe(`${requests} reads, writes and image updates`, () => {
  it(
    "are answered, and done once, although three in ten calls to database and S3 fail",
    async () => {
      const { answers, calls, faults, ...wrong } = await runFaults(stack, { requests, seed });

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
      expect(answers[200]).toBeGreaterThan(0.975 * requests);
      expect(faults / calls).toBeGreaterThan(0.2);
    },
    120_000 + 300 * requests,
  );
});
