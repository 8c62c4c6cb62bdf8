import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { type Environment, openEnvironment } from "./environment.ts";

/** The environments of all functions. */
export interface Pool {
  /**
   * An environment with the function loaded: of those that have nothing to do the one used last.
   * @throws {Failure} when the function cannot be loaded
   */
  acquire(name: string): Promise<Loaded>;
  release(loaded: Loaded): void;
  /** Has so many environments of a function ready, and no more. */
  provision(name: string, count: number): Promise<void>;
  /** Lets no invocation begin in an environment that is open by now: functions have changed. */
  renew(): Promise<void>;
  close(): Promise<void>;
}

export type Variables = Readonly<Record<string, string | undefined>>;

export interface PoolOptions {
  /** The file that an environment boots from. */
  readonly runtime: string;
  /** Where each function is. */
  readonly files: ReadonlyMap<string, string>;
  /** Of one function at once; whoever comes then waits for their turn. */
  readonly environmentsMax: number;
  /** The environment variables of a function, whenever one of its environments opens. */
  readonly variablesOf: (name: string) => Variables;
  /** Where compiled code is kept from one environment to the next. */
  readonly compiled: string;
  /** Boots an environment before there is a function to load. */
  readonly keepsSpare: boolean;
  /** What comes before a function is loaded; when it fails, so does the loading. */
  readonly prepare?: ((name: string) => Promise<void>) | undefined;
}

export interface Loaded {
  readonly name: string;
  readonly environment: Environment;
  readonly isStreaming: boolean;
  /** How often functions had been renewed when it was loaded. */
  readonly renewals: number;
  timer?: NodeJS.Timeout;
}

interface Waiting {
  resolve(loaded: Loaded): void;
  reject(error: unknown): void;
}

interface Group {
  readonly name: string;
  /** Those that are being opened included. */
  count: number;
  opening: number;
  readonly idle: Loaded[];
  readonly waiting: Waiting[];
}

/** A native library goes with the last thread that has it, unless this one has, too (sharp, "Installation"). */
async function keepNative(file: string): Promise<void> {
  const code = await readFile(file, "utf8").catch(() => "");
  if (code.includes('"sharp"')) await import("sharp");
}

/**
 * More environments of one function than this only get into each other's way, and each of them has to get warm by
 * itself, unless they wait for something: then somebody waits for them.
 */
const eagerMax = availableParallelism() + 1;
const patienceInMilliseconds = 1_000;
const idleInMilliseconds = 5 * 60_000;

/**
 * Opens environments as they are needed. Only so many are opened at once as there are processors: whoever waits takes
 * what is free first, one that has just been opened or one that somebody has done with.
 */
export function openPool({
  runtime,
  files,
  environmentsMax,
  variablesOf,
  compiled,
  keepsSpare,
  prepare,
}: PoolOptions): Pool {
  const groups = new Map<string, Group>();
  const all = new Set<Environment>();
  const wanted: Group[] = [];
  let opening = 0;
  let renewals = 0;
  let spare = keepsSpare ? openEnvironment(runtime) : undefined;

  const groupOf = (name: string) => {
    const group = groups.get(name) ?? { name, count: 0, opening: 0, idle: [], waiting: [] };
    groups.set(name, group);
    return group;
  };

  const takeIdle = (group: Group): Loaded | undefined => {
    const loaded = group.idle.pop();
    clearTimeout(loaded?.timer);
    if (!loaded?.environment.hasEnded) return loaded;
    forget(loaded);
    return takeIdle(group);
  };

  const forget = ({ name, environment }: Loaded) => {
    all.delete(environment);
    groupOf(name).count -= 1;
  };

  const end = async (loaded: Loaded) => {
    const { idle } = groupOf(loaded.name);
    clearTimeout(loaded.timer);
    idle.splice(idle.indexOf(loaded), 1);
    forget(loaded);
    await loaded.environment.end();
  };

  const want = (group: Group, atOnce = false) => {
    if (group.count >= eagerMax && !atOnce) return;
    if (group.count >= environmentsMax || group.opening >= group.waiting.length) return;
    group.count += 1;
    group.opening += 1;
    wanted.push(group);
    openNext();
  };

  const openNext = () => {
    const group = opening < availableParallelism() ? wanted.shift() : undefined;
    if (!group) return;
    if (group.waiting.length === 0) {
      group.count -= 1;
      group.opening -= 1;
      return openNext();
    }
    opening += 1;
    void open(group).finally(() => {
      opening -= 1;
      group.opening -= 1;
      openNext();
    });
  };

  const open = async (group: Group) => {
    const { name } = group;
    const file = files.get(name) ?? "";
    const loaded = renewals;
    const opened = spare ?? openEnvironment(runtime);
    spare = undefined;
    all.add(opened);
    try {
      await prepare?.(name);
      await keepNative(file);
      const load = { name, file, environment: variablesOf(name), compiled };
      const { isStreaming } = await opened.load(load);
      release({ name, environment: opened, isStreaming, renewals: loaded });
    } catch (error) {
      group.count -= 1;
      all.delete(opened);
      group.waiting.shift()?.reject(error);
      await opened.end();
    }
    if (keepsSpare) spare ??= openEnvironment(runtime);
  };

  const release = (loaded: Loaded) => {
    const group = groupOf(loaded.name);
    if (loaded.environment.hasEnded || loaded.renewals < renewals) {
      forget(loaded);
      void loaded.environment.end();
      return want(group, true);
    }
    const next = group.waiting.shift();
    if (next) return next.resolve(loaded);
    loaded.timer = setTimeout(() => void end(loaded), idleInMilliseconds).unref();
    group.idle.push(loaded);
  };

  const acquire = async (name: string, atOnce = false) => {
    const group = groupOf(name);
    const { promise, resolve, reject } = Promise.withResolvers<Loaded>();
    const loaded = takeIdle(group);
    if (loaded) return loaded;
    group.waiting.push({ resolve, reject });
    want(group, atOnce);
    const timer = setTimeout(() => want(group, true), patienceInMilliseconds);
    return await promise.finally(() => clearTimeout(timer));
  };

  return {
    acquire,
    release,

    async provision(name, count) {
      const { idle } = groupOf(name);
      await Promise.all(idle.slice(count).map(end));
      const ready = await Promise.all(Array.from({ length: count }, () => acquire(name, true)));
      for (const loaded of ready) release(loaded);
    },

    async renew() {
      renewals += 1;
      await Promise.all([...groups.values()].flatMap(({ idle }) => [...idle]).map(end));
    },

    async close() {
      await Promise.all([...all, ...(spare ? [spare] : [])].map((environment) => environment.end()));
    },
  };
}
