import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { type Environment, openEnvironment } from "./environment.ts";

/** The environments of all functions. */
export interface Pool {
  /**
   * An environment with the function loaded; of several idle ones the one used last.
   * @throws {Failure} when the function cannot be loaded
   */
  acquire(name: string): Promise<Loaded>;
  release(loaded: Loaded): void;
  /** Keeps exactly so many environments of a function ready. */
  provision(name: string, count: number): Promise<void>;
  /** Functions have changed: no invocation begins any more in an environment that was opened before. */
  renew(): Promise<void>;
  close(): Promise<void>;
}

export type Variables = Readonly<Record<string, string | undefined>>;

export interface PoolOptions {
  /** The file that an environment boots from. */
  readonly runtime: string;
  /** The file of each function. */
  readonly files: ReadonlyMap<string, string>;
  /** Environments of one function at the same time; further invocations wait. */
  readonly environmentsMax: number;
  /** The environment variables of a function, read each time when one of its environments opens. */
  readonly variablesOf: (name: string) => Variables;
  /** Where compiled code is kept from one environment to the next. */
  readonly compiled: string;
  /** Boots an environment before there is a function to load. */
  readonly keepsSpare: boolean;
  /** Runs before a function is loaded. When it fails, loading fails. */
  readonly prepare?: ((name: string) => Promise<void>) | undefined;
}

export interface Loaded {
  readonly name: string;
  readonly environment: Environment;
  readonly isStreaming: boolean;
  /** How often `renew` had been called when the function was loaded. */
  readonly renewals: number;
  timer?: NodeJS.Timeout;
}

interface Waiting {
  resolve(loaded: Loaded): void;
  reject(error: unknown): void;
}

interface Group {
  readonly name: string;
  /** Includes environments that are being opened. */
  count: number;
  opening: number;
  readonly idle: Loaded[];
  readonly waiting: Waiting[];
}

/**
 * All threads share libvips: it is unloaded with the last thread that uses it (sharp, "Installation"), and what it may
 * load is decided for all of them. So the main thread loads it, too, and decides.
 * @returns whether the function uses it
 */
async function prepareSharp(file: string): Promise<boolean> {
  const code = await readFile(file, "utf8").catch(() => "");
  const usesSharp = code.includes('"sharp"');
  if (usesSharp) await import("../../../lib/images/sharp.ts");
  return usesSharp;
}

/**
 * More environments of one function compete for the processors, and each one starts cold. Only when an invocation has
 * waited for `longWaitInMilliseconds` are more opened, because then the others probably wait for the database.
 */
const eagerMax = availableParallelism() + 1;
const longWaitInMilliseconds = 1_000;
const idleInMilliseconds = 5 * 60_000;

/**
 * Opens environments when they are needed, at most as many at the same time as there are processors. An invocation that
 * waits gets the first environment that is free: a new one, or one whose invocation has ended.
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
  const queue: Group[] = [];
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
    remove(loaded);
    return takeIdle(group);
  };

  const remove = ({ name, environment }: Loaded) => {
    all.delete(environment);
    groupOf(name).count -= 1;
  };

  const end = async (loaded: Loaded) => {
    const { idle } = groupOf(loaded.name);
    clearTimeout(loaded.timer);
    idle.splice(idle.indexOf(loaded), 1);
    remove(loaded);
    await loaded.environment.end();
  };

  const requestOpening = (group: Group, isUrgent = false) => {
    if (group.count >= eagerMax && !isUrgent) return;
    if (group.count >= environmentsMax || group.opening >= group.waiting.length) return;
    group.count += 1;
    group.opening += 1;
    queue.push(group);
    openNext();
  };

  const openNext = () => {
    const group = opening < availableParallelism() ? queue.shift() : undefined;
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
      const usesSharp = await prepareSharp(file);
      const load = { name, file, environment: variablesOf(name), compiled, usesSharp };
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
      remove(loaded);
      void loaded.environment.end();
      return requestOpening(group, true);
    }
    const next = group.waiting.shift();
    if (next) return next.resolve(loaded);
    loaded.timer = setTimeout(() => void end(loaded), idleInMilliseconds).unref();
    group.idle.push(loaded);
  };

  const acquire = async (name: string, isUrgent = false) => {
    const group = groupOf(name);
    const { promise, resolve, reject } = Promise.withResolvers<Loaded>();
    const loaded = takeIdle(group);
    if (loaded) return loaded;
    group.waiting.push({ resolve, reject });
    requestOpening(group, isUrgent);
    const timer = setTimeout(() => requestOpening(group, true), longWaitInMilliseconds);
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
