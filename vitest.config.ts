import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

// Each worker would compile the CDK and the SDK anew.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, "node_modules/.cache/colophon/test-runner");

export default defineConfig({
  test: {
    include: ["{test,infra/aws-local}/**/*.test.ts"],
    globalSetup: "test/support/global-setup.ts",
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // What is waited for comes at once, except on a machine that stands still for seconds.
    expect: { poll: { timeout: 30_000 } },
    // Tests wait for PostgreSQL, for processes and for timeouts. Each worker needs up to 2 GB.
    maxWorkers: Math.min(availableParallelism() + 2, 8),
    // Each file has a database and a service of its own; loading the same modules for each took a fifth of the time.
    isolate: false,
    // Tests reach functions through their bundles, of which the test runner knows nothing.
    watchTriggerPatterns: [
      {
        pattern: /\/functions\/(.+)\.ts$/,
        testsToRun: (_, [, endpointPath]) => `test/functions/${endpointPath}.test.ts`,
      },
      { pattern: /\/lib\/.+\.(ts|sql)$/, testsToRun: () => globSync("test/{functions,lib}/**/*.test.ts") },
    ],
    // Functions log a line a request, and faults that tests ask for; only failing tests show theirs.
    silent: "passed-only",
    onConsoleLog: (log) => !log.startsWith('{"level":"info"'),
  },
});
