import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { compileCache } from "./infra/build/cached-folder.ts";

// Each worker would compile the CDK and the SDK anew.
process.env.NODE_COMPILE_CACHE ??= compileCache();
// Operators change infra/stages.ts.
process.env.STAGES = join(import.meta.dirname, "infra/stages.example.ts");

/** Files that take forty seconds or more, mostly for processes and time-outs. */
const longTests = [
  "edge/replay",
  "infra/project",
  "functions/long-lists",
  "functions/every-endpoint",
  "browser/docs",
  "functions/ops/invalidate-and-remove",
  "functions/ops/undo-property",
  "functions/ops/import",
  "lib/sign-in/provider",
  "functions/races",
  "functions/ledger",
  "lib/migrations/migrate",
  "lib/migrations/roles",
  "lib/migrations/deployments-and-passwords",
  "functions/ops/trials",
].map((name) => join(import.meta.dirname, "test", `${name}.test.ts`));

/** Without results of an earlier run, Vitest starts with the largest files; a long one that starts last runs alone. */
class LongTestsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => longTests.includes(moduleId);
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  plugins: [
    {
      name: "SQL files as texts, as in bundles",
      transform: (content, path) => (path.endsWith(".sql") ? `export default ${JSON.stringify(content)}` : undefined),
      enforce: "pre",
    },
  ],
  test: {
    include: ["{test,infra/aws-local}/**/*.test.ts"],
    globalSetup: "test/support/global-setup.ts",
    setupFiles: ["test/support/seed.ts", "test/support/show-logged-errors.ts"],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // What is waited for comes at once, except on a machine that stands still for seconds.
    expect: { poll: { timeout: 60_000 } },
    // Tests wait for PostgreSQL, for processes and for timeouts. Each worker needs up to 2 GB.
    maxWorkers: Math.min(availableParallelism() + 2, 8),
    // Functions open in thousands of threads, each of which would collect its garbage several times while it loads.
    execArgv: ["--min-semi-space-size=16"],
    // Each file has a database and a service of its own; loading the same modules for each took a fifth of the time.
    isolate: false,
    sequence: { sequencer: LongTestsFirst },
    // Tests reach functions through their bundles, of which the test runner knows nothing.
    watchTriggerPatterns: [
      { pattern: /\/(functions|lib)\/.+\.(ts|sql)$/, testsToRun: () => globSync("test/{functions,lib}/**/*.test.ts") },
    ],
    // A row's name is a sentence, of which Vitest would print forty characters.
    taskTitleValueFormatTruncate: 0,
    // Functions log a line a request, and faults that tests ask for; only failing tests show theirs.
    silent: "passed-only",
    onConsoleLog: (log) => !log.startsWith('{"level":"info"'),
  },
});
