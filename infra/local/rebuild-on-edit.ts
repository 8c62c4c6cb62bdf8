import { type FSWatcher, readdirSync, watch } from "node:fs";
import { join, relative } from "node:path";
import { Failure } from "../aws-local/lambda/environment.ts";
import type { Lambda } from "../aws-local/lambda/lambda.ts";
import { cachedBuildOf } from "../build/cached-build.ts";

/** Builds functions again when their code has changed while the service runs. */
export interface Edits {
  /**
   * Builds a function again if code has changed since the start, and waits until changed database functions are installed.
   * @returns the file of its bundle if it was built again
   * @throws {Failure} `BuildFailure` when the code is broken
   */
  prepare(name: string): Promise<string | undefined>;
  /** Watches the code for changes from now on; the next request runs the changed code. */
  follow(lambda: Lambda): void;
  close(): void;
}

export interface EditsOptions {
  /** The path of each function in `functions/`, by its name. */
  readonly endpointPaths: ReadonlyMap<string, string>;
  readonly report: (line: string) => void;
}

const migration = "ops-migrate";

async function migrate(lambda: Lambda): Promise<void> {
  const migrated = await lambda.invoke(migration, {});
  if ("error" in migrated) throw new Failure({ ...migrated.error, errorType: "BuildFailure" });
}

const root = join(import.meta.dirname, "../..");
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

export function openEdits({ endpointPaths, report }: EditsOptions): Edits {
  const builds = new Map<string, Promise<string>>();
  const watchers: FSWatcher[] = [];
  let hasEdits = false;
  /** Resolves when the files have been left alone for a moment. */
  let settling: PromiseWithResolvers<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  /** False from an edit of database code until it has been installed. */
  let isInstalled = true;
  let installation = Promise.resolve();

  const build = (name: string) => {
    const building = cachedBuildOf(endpointPaths.get(name) ?? "");
    building.catch((error: Error) => report(error.message));
    builds.set(name, building);
    return building;
  };

  /** When it fails, the next edit of whatever file may mend it. */
  const install = (lambda: Lambda) => {
    const installing = migrate(lambda).then(() => {
      if (installation === installing) isInstalled = true;
    });
    installing.catch(() => {});
    installation = installing;
  };

  /** From now on no invocation begins with the old code. */
  const onEdit = (lambda: Lambda, file: string) => {
    if (!code.test(file)) return;
    hasEdits = true;
    if (databaseCode.test(file)) isInstalled = false;
    builds.clear();
    void lambda.renew();
    settling ??= Promise.withResolvers();
    clearTimeout(timer);
    timer = setTimeout(() => {
      report(`${file} has changed${file.startsWith(routes) ? "; a new route needs a new start" : ""}`);
      settling?.resolve();
      settling = undefined;
      if (!isInstalled) install(lambda);
    }, settlingInMilliseconds);
  };

  return {
    async prepare(name) {
      if (!hasEdits) return undefined;
      await settling?.promise;
      const file = await (builds.get(name) ?? build(name)).catch((error: Error) => {
        throw new Failure({ errorType: "BuildFailure", errorMessage: error.message });
      });
      if (name !== migration) await installation;
      return file;
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
