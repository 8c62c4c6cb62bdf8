import { globSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

// Each test file is a process of its own, and would compile the CDK and the SDK anew.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, "node_modules/.cache/colophon/test-runner");

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: "test/support/global-setup.ts",
    testTimeout: 30_000,
    hookTimeout: 120_000,
    // Most of the time a test waits: for PostgreSQL, for a process, for what it has broken.
    maxWorkers: "150%",
    // Tests reach functions through their bundles, of which the test runner knows nothing.
    watchTriggerPatterns: [
      { pattern: /\/functions\/(.+)\.ts$/, testsToRun: (_, [, stem]) => `test/functions/${stem}.test.ts` },
      { pattern: /\/lib\/.+\.(ts|sql)$/, testsToRun: () => globSync("test/{functions,lib}/**/*.test.ts") },
    ],
    // Functions log a line a request, and faults that tests ask for; only failing tests show theirs.
    silent: "passed-only",
    onConsoleLog: (log) => !log.startsWith('{"level":"info"'),
  },
});
