import { type Environment, Failure } from "./environment.ts";
import { TooManyRequests } from "./refusals.ts";

/** The environments of one function. */
export interface Environments {
  /**
   * An environment that has loaded the function; of several idle ones the one used last.
   * @throws {Failure} when the function cannot be loaded
   * @throws {TooManyRequests} when none has been free for too long
   */
  acquire(): Promise<Environment>;
  release(environment: Environment): void;
  /** Opens environments until so many are ready, and ends idle ones until no more are. */
  provision(count: number): Promise<void>;
  /** The function has changed: no invocation begins any more in an environment that was opened before. */
  renew(): Promise<void>;
  close(): Promise<void>;
}

export interface EnvironmentsOptions {
  /** Environments at the same time; further invocations wait. */
  readonly max: number;
  /** How long an invocation waits. */
  readonly waitMaxInMilliseconds: number;
  /** Runs before the function is loaded. When it fails, loading fails. */
  prepare(): Promise<void>;
  open(): Environment;
  /** Runs a work when fewer environments are being opened than there are processors. */
  whenProcessorFree<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** An invocation that has no environment yet. */
type Waiting = PromiseWithResolvers<Environment>;

const idleInMilliseconds = 5 * 60_000;

/**
 * Opens environments when they are needed. An invocation that waits gets the first environment that is free: a new one,
 * or one whose invocation has ended.
 */
export function openEnvironments(options: EnvironmentsOptions): Environments {
  const { max, waitMaxInMilliseconds, prepare, whenProcessorFree } = options;
  const all = new Set<Environment>();
  /** Those with the latest code. */
  let latest = new Set<Environment>();
  /** The one used last comes last. */
  const idle = new Map<Environment, NodeJS.Timeout>();
  const waiting = new Set<Waiting>();
  let opening = 0;
  /** Those that are open, or will be. */
  let size = 0;

  const end = async (environment: Environment) => {
    takeIdle(environment);
    all.delete(environment);
    latest.delete(environment);
    await environment.end();
  };

  const takeIdle = (environment: Environment) => {
    clearTimeout(idle.get(environment));
    idle.delete(environment);
  };

  /** Runs whenever an invocation begins to wait, and whenever an environment is gone. */
  const openNeeded = () => {
    while (opening < waiting.size && size < max) void open();
  };

  const open = async () => {
    opening += 1;
    size += 1;
    let environment: Environment | undefined;
    try {
      environment = await loadLatest();
    } catch (error) {
      shift(waiting)?.reject(error);
    }
    opening -= 1;
    if (environment) release(environment);
    else {
      size -= 1;
      openNeeded();
    }
  };

  /**
   * Loads the function, and loads it again as often as it has changed meanwhile.
   * @returns undefined when no invocation waits any more
   */
  const loadLatest = async (): Promise<Environment | undefined> => {
    for (;;) {
      const current = latest;
      try {
        // Not in turn: it may wait for another function, which opens meanwhile.
        await prepare();
        const environment = await whenProcessorFree(async () => (waiting.size > 0 ? await load() : undefined));
        if (current === latest) {
          if (environment) latest.add(environment);
          return environment;
        }
        if (environment) await end(environment);
      } catch (error) {
        if (current === latest) throw error;
      }
    }
  };

  const load = async () => {
    const environment = options.open();
    all.add(environment);
    try {
      await environment.loaded;
      return environment;
    } catch (error) {
      await end(environment);
      throw error;
    }
  };

  const endOpen = async (environment: Environment) => {
    size -= 1;
    await end(environment);
  };

  const release = (environment: Environment) => {
    if (environment.hasEnded || !latest.has(environment)) {
      void endOpen(environment);
      return openNeeded();
    }
    const next = shift(waiting);
    if (next) return next.resolve(environment);
    idle.set(environment, setTimeout(() => void endOpen(environment), idleInMilliseconds).unref());
  };

  const acquire = async () => {
    for (const last of [...idle.keys()].reverse()) {
      takeIdle(last);
      if (!last.hasEnded) return last;
      void endOpen(last);
    }
    const next = Promise.withResolvers<Environment>();
    waiting.add(next);
    openNeeded();
    const throttle = setTimeout(() => {
      waiting.delete(next);
      next.reject(new TooManyRequests("ConcurrentInvocationLimitExceeded"));
    }, waitMaxInMilliseconds);
    return await next.promise.finally(() => clearTimeout(throttle));
  };

  return {
    acquire,
    release,

    async provision(count) {
      await Promise.all([...idle.keys()].slice(count).map(endOpen));
      const ready = await Promise.all(Array.from({ length: count }, acquire));
      for (const environment of ready) release(environment);
    },

    async renew() {
      latest = new Set();
      await Promise.all([...idle.keys()].map(endOpen));
    },

    async close() {
      const stopping = new Failure({ errorType: "ServiceException", errorMessage: "Lambda is stopping" });
      for (let next = shift(waiting); next; next = shift(waiting)) next.reject(stopping);
      await Promise.all([...all].map(end));
    },
  };
}

/** Takes the first item out of a set. */
function shift<Item>(items: Set<Item>): Item | undefined {
  const [first] = items;
  if (first !== undefined) items.delete(first);
  return first;
}
