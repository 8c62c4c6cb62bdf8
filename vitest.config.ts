import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: "test/support/global-setup.ts",
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Functions log a line a request; a failing test shows what it needs by itself.
    onConsoleLog: (log) => !log.startsWith('{"level":"info"'),
  },
});
