import { globSync, watch } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "../aws-local/lambda/failure.ts";
import type { Lambda } from "../aws-local/lambda/lambda.ts";
import { cachedBuildOf } from "../build/cached-build.ts";
import { functionPathOf } from "../command/event.ts";

const migration = "ops-migrate";

/** @throws {Failure} `BuildFailure` when a migration or a database function is wrong */
export async function migrate({ invoke }: Pick<Lambda, "invoke">, setPasswords = false): Promise<void> {
  const migrated = await invoke(migration, { setPasswords });
  if ("error" in migrated) throw new Failure({ ...migrated.error, errorType: "BuildFailure" });
}

const root = join(import.meta.dirname, "../..");
const routes = join("lib", "contract");
/** Editors write a file in several steps, and several files at once. */
const settlingInMilliseconds = 50;

/** Builds functions again when their code has changed while the service runs. */
export function openEdits(report: (line: string) => void) {
  const closing = new AbortController();
  let edits = 0;
  /** After an edit: until the files have been left alone for a moment. */
  let settled: Promise<void> | undefined;
  /** And until `ops-migrate` has installed database code that has changed. */
  let installed: Promise<void> | undefined;
  let isInstalled = true;

  const onEdit = (lambda: Lambda, file: string) => {
    edits += 1;
    const edit = edits;
    if (file.endsWith(".sql")) isInstalled = false;
    // From now on no invocation begins with the old code.
    void lambda.renew();
    settled = sleep(settlingInMilliseconds).then(() => (edit === edits ? undefined : settled));
    installed = settled.then(async () => {
      if (edit !== edits) return await installed;
      report(`${file} has changed${file.startsWith(routes) ? "; a new route needs a new start" : ""}`);
      // When it fails, the next edit of whatever file may mend it.
      if (!isInstalled) await migrate(lambda);
      isInstalled ||= edit === edits;
    });
    installed.catch(() => {});
  };

  return {
    /**
     * Builds a function again if code has changed since the start, and waits until changed database functions are
     * installed.
     * @returns the file of its bundle if it was built again
     * @throws {Failure} `BuildFailure` when the code is broken
     */
    async prepare(name: string): Promise<string | undefined> {
      if (!settled) return undefined;
      await settled;
      const file = await cachedBuildOf(functionPathOf(name)).catch((error: Error) => {
        report(error.message);
        throw new Failure({ errorType: "BuildFailure", errorMessage: error.message });
      });
      if (name !== migration) await installed;
      return file;
    },

    /** Watches the code for changes from now on; the next request runs the changed code. */
    follow(lambda: Lambda): void {
      // A recursive watch would follow the files themselves, and lose those that an editor replaces by new ones.
      for (const folder of globSync("{functions,lib}/**/", { cwd: root }))
        watch(join(root, folder), { persistent: false, signal: closing.signal }, (_, file) => {
          if (file && /\.(ts|sql)$/.test(file)) onEdit(lambda, join(folder, file));
        });
    },

    close(): void {
      closing.abort();
      edits += 1;
      settled = undefined;
      installed = undefined;
    },
  };
}
