import { availableParallelism } from "node:os";
import { type Environment, Failure } from "./environment.ts";
import type { LambdaLimits } from "./lambda.ts";
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
  readonly limits: Pick<LambdaLimits, "environments" | "longInMilliseconds" | "gatewayInMilliseconds">;
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
 * or one whose invocation has ended. As many run as there are processors, since more would be slower, and each of them
 * starts cold. An invocation that takes long does not count: it probably waits, for a lock or for its reader.
 */
export function openEnvironments(options: EnvironmentsOptions): Environments {
  const { limits, prepare, whenProcessorFree } = options;
  const all = new Set<Environment>();
  /** Those with the latest code. */
  let latest = new Set<Environment>();
  /** The one used last comes last. */
  const idle = new Map<Environment, NodeJS.Timeout>();
  /** Those whose invocation has not taken long yet. */
  const running = new Map<Environment, NodeJS.Timeout>();
  const waiting = new Set<Waiting>();
  let runningMax = availableParallelism();
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

  /** Runs whenever an invocation begins to wait or takes long, and whenever an environment is free or gone. */
  const runWaiting = () => {
    for (const environment of [...idle.keys()].reverse()) {
      if (waiting.size === 0 || running.size >= runningMax) break;
      takeIdle(environment);
      if (environment.hasEnded) void endOpen(environment);
      else begin(environment);
    }
    while (opening < waiting.size && size < limits.environments && running.size + opening < runningMax) void open();
  };

  const begin = (environment: Environment) => {
    const endTurn = () => {
      running.delete(environment);
      runWaiting();
    };
    running.set(environment, setTimeout(endTurn, limits.longInMilliseconds).unref());
    shift(waiting)?.resolve(environment);
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
      runWaiting();
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
    clearTimeout(running.get(environment));
    running.delete(environment);
    if (environment.hasEnded || !latest.has(environment)) void endOpen(environment);
    else idle.set(environment, setTimeout(() => void endOpen(environment), idleInMilliseconds).unref());
    runWaiting();
  };

  const acquire = async () => {
    const next = Promise.withResolvers<Environment>();
    waiting.add(next);
    runWaiting();
    if (!waiting.has(next)) return await next.promise;
    // A new environment is waited for: the function may have to be built for it.
    const throttle = () => {
      if (opening > 0 || !waiting.delete(next)) return;
      next.reject(new TooManyRequests("ConcurrentInvocationLimitExceeded"));
    };
    const timer = setInterval(throttle, limits.gatewayInMilliseconds / 2);
    return await next.promise.finally(() => clearInterval(timer));
  };

  return {
    acquire,
    release,

    async provision(count) {
      runningMax = Math.max(count, availableParallelism());
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
