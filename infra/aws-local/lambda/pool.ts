import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { type Environment, Failure, openEnvironment } from "./environment.ts";
import { openLimiter } from "./limiter.ts";
import { TooManyRequests } from "./refusals.ts";

/** The environments of all functions. */
export interface Pool {
  /**
   * An environment with the function loaded; of several idle ones the one used last.
   * @throws {Failure} when the function cannot be loaded
   * @throws {TooManyRequests} when none has been free for too long
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
  /** How long an invocation waits. */
  readonly waitMaxInMilliseconds: number;
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
  /** Which of the versions that `renew` begins was loaded. */
  readonly version: number;
  timer?: NodeJS.Timeout;
}

/** An invocation that has no environment yet. */
interface Waiting {
  resolve(loaded: Loaded): void;
  reject(error: unknown): void;
  hasWaitedLong: boolean;
}

/** The environments of one function, and the invocations that wait for one. */
interface Group {
  readonly name: string;
  /** Busy ones and idle ones. */
  readonly loaded: Set<Loaded>;
  /** The one used last comes last. */
  readonly idle: Set<Loaded>;
  readonly waiting: Set<Waiting>;
  opening: number;
  provisioned: number;
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
 * More environments of one function compete for the processors, and each one starts cold. Only for invocations that
 * have waited for `longWaitInMilliseconds` are more opened, because then the others probably wait for the database.
 */
const eagerMax = availableParallelism() + 1;
const longWaitInMilliseconds = 1_000;
/** Each takes 17 MB and more, so those beyond the usual number are ended soon. */
const surplusIdleInMilliseconds = 3_000;
const idleInMilliseconds = 5 * 60_000;

const sizeOf = ({ loaded, opening }: Group) => loaded.size + opening;

const usualSizeOf = ({ provisioned }: Group) => Math.max(eagerMax, provisioned);

/** The number of invocations that environments are opened for. */
function demandOf(group: Group): number {
  if (sizeOf(group) < usualSizeOf(group)) return group.waiting.size;
  return [...group.waiting].filter(({ hasWaitedLong }) => hasWaitedLong).length;
}

/**
 * Opens environments when they are needed, at most as many at the same time as there are processors. An invocation that
 * waits gets the first environment that is free: a new one, or one whose invocation has ended.
 */
export function openPool({
  runtime,
  files,
  environmentsMax,
  waitMaxInMilliseconds,
  variablesOf,
  compiled,
  keepsSpare,
  prepare,
}: PoolOptions): Pool {
  const groups = new Map<string, Group>();
  const threads = new Set<Environment>();
  const inTurn = openLimiter(availableParallelism());
  let version = 0;
  let isClosed = false;

  const boot = () => {
    const environment = openEnvironment(runtime);
    threads.add(environment);
    return environment;
  };

  let spare = keepsSpare ? boot() : undefined;

  const groupOf = (name: string) => {
    const group = groups.get(name) ?? {
      name,
      loaded: new Set(),
      idle: new Set(),
      waiting: new Set(),
      opening: 0,
      provisioned: 0,
    };
    groups.set(name, group);
    return group;
  };

  const endThread = async (environment: Environment) => {
    threads.delete(environment);
    await environment.end();
  };

  const end = async (loaded: Loaded) => {
    const { loaded: all, idle } = groupOf(loaded.name);
    clearTimeout(loaded.timer);
    all.delete(loaded);
    idle.delete(loaded);
    await endThread(loaded.environment);
  };

  /** Runs whenever an invocation begins to wait, and whenever an environment is gone. */
  const openNeeded = (group: Group) => {
    while (group.opening < demandOf(group) && sizeOf(group) < environmentsMax) void open(group);
  };

  const open = async (group: Group) => {
    group.opening += 1;
    try {
      const loaded = await loadLatest(group);
      if (!loaded) return;
      group.loaded.add(loaded);
      release(loaded);
    } catch (error) {
      shift(group.waiting)?.reject(error);
    } finally {
      group.opening -= 1;
      openNeeded(group);
    }
  };

  /**
   * Loads a function, and loads it again as often as it has changed meanwhile.
   * @returns undefined when no invocation waits any more
   */
  const loadLatest = async (group: Group): Promise<Loaded | undefined> => {
    for (;;) {
      const current = version;
      try {
        // Not in turn: it may wait for another function, which opens meanwhile.
        await prepare?.(group.name);
        const loaded = await inTurn(async () => (group.waiting.size > 0 ? await load(group.name, current) : undefined));
        if (!loaded || current === version) return loaded;
        await endThread(loaded.environment);
      } catch (error) {
        if (current === version) throw error;
      }
    }
  };

  const load = async (name: string, current: number): Promise<Loaded> => {
    const environment = spare ?? boot();
    spare = undefined;
    const file = files.get(name) ?? "";
    try {
      const usesSharp = await prepareSharp(file);
      const variables = variablesOf(name);
      const { isStreaming } = await environment.load({ name, file, environment: variables, compiled, usesSharp });
      return { name, environment, isStreaming, version: current };
    } catch (error) {
      await endThread(environment);
      throw error;
    } finally {
      if (keepsSpare && !isClosed) spare ??= boot();
    }
  };

  const release = (loaded: Loaded) => {
    const group = groupOf(loaded.name);
    if (loaded.environment.hasEnded || loaded.version < version) {
      void end(loaded);
      return openNeeded(group);
    }
    const next = shift(group.waiting);
    if (next) return next.resolve(loaded);
    group.idle.add(loaded);
    loaded.timer = setTimeout(() => {
      if (sizeOf(group) > usualSizeOf(group)) return void end(loaded);
      loaded.timer = setTimeout(() => void end(loaded), idleInMilliseconds).unref();
    }, surplusIdleInMilliseconds).unref();
  };

  const takeIdle = (group: Group): Loaded | undefined => {
    const loaded = [...group.idle].at(-1);
    if (!loaded) return undefined;
    group.idle.delete(loaded);
    clearTimeout(loaded.timer);
    if (!loaded.environment.hasEnded) return loaded;
    void end(loaded);
    return takeIdle(group);
  };

  const acquire = async (name: string) => {
    const group = groupOf(name);
    const loaded = takeIdle(group);
    if (loaded) return loaded;
    const { promise, resolve, reject } = Promise.withResolvers<Loaded>();
    const waiting = { resolve, reject, hasWaitedLong: false };
    group.waiting.add(waiting);
    openNeeded(group);
    const hurry = setTimeout(() => {
      waiting.hasWaitedLong = true;
      openNeeded(group);
    }, longWaitInMilliseconds);
    const throttle = setTimeout(() => {
      group.waiting.delete(waiting);
      reject(new TooManyRequests("ConcurrentInvocationLimitExceeded"));
    }, waitMaxInMilliseconds);
    return await promise.finally(() => {
      clearTimeout(hurry);
      clearTimeout(throttle);
    });
  };

  return {
    acquire,
    release,

    async provision(name, count) {
      const group = groupOf(name);
      group.provisioned = count;
      await Promise.all([...group.idle].slice(count).map(end));
      const ready = await Promise.all(Array.from({ length: count }, () => acquire(name)));
      for (const loaded of ready) release(loaded);
    },

    async renew() {
      version += 1;
      await Promise.all([...groups.values()].flatMap(({ idle }) => [...idle]).map(end));
    },

    async close() {
      isClosed = true;
      const stopping = new Failure({ errorType: "ServiceException", errorMessage: "Lambda is stopping" });
      for (const { waiting } of groups.values())
        for (let next = shift(waiting); next; next = shift(waiting)) next.reject(stopping);
      await Promise.all([...threads].map(endThread));
    },
  };
}

/** Takes the first item out of a set. */
function shift<Item>(items: Set<Item>): Item | undefined {
  const [first] = items;
  if (first !== undefined) items.delete(first);
  return first;
}
