import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: "test/support/global-setup.ts",
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Functions log a line a request, and faults that tests ask for; only failing tests show theirs.
    silent: "passed-only",
    onConsoleLog: (log) => !log.startsWith('{"level":"info"'),
  },
});
