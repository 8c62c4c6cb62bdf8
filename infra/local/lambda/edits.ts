import { type FSWatcher, watch } from "node:fs";
import { join } from "node:path";
import { buildAgain } from "../../build/build.ts";
import { Failure } from "./environment.ts";
import type { Lambda } from "./lambda.ts";

/** Keeps running functions what their code is. */
export interface Edits {
  /**
   * Builds a function again if the code has changed since it was built, and lets it wait for database functions that
   * have changed.
   * @throws {Failure} `BuildFailure` when the code is broken
   */
  prepare(name: string): Promise<void>;
  /** Looks out for changes from now on; the next request is served by what has changed. */
  follow(lambda: Lambda): void;
  close(): void;
}

export interface EditsOptions {
  /** Where the functions have been built. */
  readonly outdir: string;
  /** The stem of each function, by its name. */
  readonly stems: ReadonlyMap<string, string>;
  readonly report: (line: string) => void;
}

const migration = "ops-migrate";

async function migrate(lambda: Lambda): Promise<void> {
  const migrated = await lambda.invoke(migration, {});
  if ("error" in migrated) throw new Failure({ ...migrated.error, errorType: "BuildFailure" });
}

const root = join(import.meta.dirname, "../../..");
const watched = ["functions", "lib"];
const code = /\.(ts|sql)$/;
const routes = join("lib", "contract");
/** What `ops-migrate` brings into the database. */
const databaseCode = /\.sql$/;
/** Editors write a file in several steps, and several files at once. */
const settlingInMilliseconds = 50;

export function openEdits({ outdir, stems, report }: EditsOptions): Edits {
  const builds = new Map<string, Promise<void>>();
  const latest = new Map<string, Promise<void>>();
  const watchers: FSWatcher[] = [];
  let hasEdits = false;
  let installation = Promise.resolve();
  let install: (() => void) | undefined;
  let timer: NodeJS.Timeout | undefined;

  /** One build of a function after another, or an older one might have the last word. */
  const build = (name: string) => {
    const before = latest.get(name) ?? Promise.resolve();
    const started = before.catch(() => {}).then(() => buildAgain(stems.get(name) ?? "", outdir));
    started.catch((error: Error) => report(error.message));
    builds.set(name, started);
    latest.set(name, started);
    return started;
  };

  /** From here on nothing begins with what was, and whoever comes waits for what the edit asks for. */
  const notice = (lambda: Lambda, file: string) => {
    if (!code.test(file)) return;
    hasEdits = true;
    builds.clear();
    void lambda.renew();
    if (databaseCode.test(file) && !install) {
      const { promise, resolve } = Promise.withResolvers<void>();
      install = resolve;
      installation = promise.then(() => migrate(lambda));
      installation.catch(() => {});
    }
    clearTimeout(timer);
    timer = setTimeout(() => {
      report(`${file} has changed${file.startsWith(routes) ? "; a new route needs a new start" : ""}`);
      install?.();
      install = undefined;
    }, settlingInMilliseconds);
  };

  return {
    async prepare(name) {
      if (!hasEdits) return;
      await (builds.get(name) ?? build(name)).catch((error: Error) => {
        throw new Failure({ errorType: "BuildFailure", errorMessage: error.message });
      });
      if (name !== migration) await installation;
    },

    follow(lambda) {
      for (const directory of watched) {
        const watcher = watch(join(root, directory), { recursive: true }, (_, file) => {
          if (file) notice(lambda, join(directory, file));
        });
        watcher.unref();
        watchers.push(watcher);
      }
    },

    close() {
      clearTimeout(timer);
      for (const watcher of watchers) watcher.close();
    },
  };
}
