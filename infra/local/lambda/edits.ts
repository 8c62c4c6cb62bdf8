import { type FSWatcher, readdirSync, watch } from "node:fs";
import { join, relative } from "node:path";
import { buildAgain } from "../../build/build.ts";
import { Failure } from "./environment.ts";
import type { Lambda } from "./lambda.ts";

/** Builds functions again when their code has changed while the service runs. */
export interface Edits {
  /**
   * Builds a function again if code has changed since it was built, and waits until changed database functions are
   * installed.
   * @throws {Failure} `BuildFailure` when the code is broken
   */
  prepare(name: string): Promise<void>;
  /** Watches the code for changes from now on; the next request runs the changed code. */
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
/** The files that `ops-migrate` installs in the database. */
const databaseCode = /\.sql$/;
/** Editors write a file in several steps, and several files at once. */
const settlingInMilliseconds = 50;

/** A recursive watch would follow the files themselves, and lose those that an editor replaces by new ones. */
const watchedFolders = (): string[] =>
  watched.flatMap((folder) => [
    folder,
    ...readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => relative(root, join(entry.parentPath, entry.name))),
  ]);

export function openEdits({ outdir, stems, report }: EditsOptions): Edits {
  const builds = new Map<string, Promise<void>>();
  const latest = new Map<string, Promise<void>>();
  const watchers: FSWatcher[] = [];
  let hasEdits = false;
  let installation = Promise.resolve();
  let install: (() => void) | undefined;
  let timer: NodeJS.Timeout | undefined;

  /** Builds of one function run one after another; otherwise an older one could finish last. */
  const build = (name: string) => {
    const before = latest.get(name) ?? Promise.resolve();
    const building = before.catch(() => {}).then(() => buildAgain(stems.get(name) ?? "", outdir));
    building.catch((error: Error) => report(error.message));
    builds.set(name, building);
    latest.set(name, building);
    return building;
  };

  /** From now on no invocation begins with the old code; it waits for the build, and for the migration if there is one. */
  const onEdit = (lambda: Lambda, file: string) => {
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
      for (const folder of watchedFolders()) {
        const watcher = watch(join(root, folder), (_, file) => {
          if (file) onEdit(lambda, join(folder, file));
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
