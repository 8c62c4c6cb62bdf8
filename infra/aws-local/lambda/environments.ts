import { availableParallelism } from "node:os";
import type { Environment } from "./environment.ts";
import { Failure, hasTimedOut } from "./failure.ts";
import { TooManyRequests } from "./refusals.ts";
import type { LambdaLimits } from "./settings.ts";

/** The environments of one function. */
export type Environments = ReturnType<typeof openEnvironments>;

export interface EnvironmentsOptions {
  readonly limits: Pick<
    LambdaLimits,
    "environments" | "longInMilliseconds" | "gatewayInMilliseconds" | "loadingInMilliseconds"
  >;
  /** Returns the function's own timeout. */
  timeoutInMilliseconds(): number;
  /** Runs before the function is loaded. When it fails, loading fails. @returns the file to load */
  prepare(): Promise<string>;
  open(file: string, loadingInMilliseconds: number): Environment;
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
export function openEnvironments(options: EnvironmentsOptions) {
  const { limits, prepare, whenProcessorFree } = options;
  /** With the number of changes of the function before each was opened. */
  const loaded = new Map<Environment, number>();
  const loading = new Set<Environment>();
  let changes = 0;
  /** The one used last comes last. */
  const idle = new Map<Environment, NodeJS.Timeout>();
  /** Those whose invocation has not taken long yet. */
  const running = new Map<Environment, NodeJS.Timeout>();
  const waiting: Waiting[] = [];
  let runningMax = availableParallelism();
  let opening = 0;

  const end = async (environment: Environment) => {
    takeIdle(environment);
    loaded.delete(environment);
    await environment.end();
  };

  const takeIdle = (environment: Environment) => {
    clearTimeout(idle.get(environment));
    idle.delete(environment);
  };

  /** Runs whenever an invocation begins to wait or takes long, and whenever an environment is free or has ended. */
  const runWaiting = () => {
    for (const environment of [...idle.keys()].reverse()) {
      if (waiting.length === 0 || running.size >= runningMax) break;
      takeIdle(environment);
      if (environment.hasEnded) void end(environment);
      else begin(environment);
    }
    const isRoom = () => opening + loaded.size < limits.environments && opening + running.size < runningMax;
    while (opening < waiting.length && isRoom()) void open();
  };

  const begin = (environment: Environment) => {
    const endTurn = () => {
      running.delete(environment);
      runWaiting();
    };
    running.set(environment, setTimeout(endTurn, limits.longInMilliseconds).unref());
    waiting.shift()?.resolve(environment);
  };

  /** If the function changes meanwhile, the invocation that waits gets another environment. */
  const open = async () => {
    opening += 1;
    const changesBefore = changes;
    let environment: Environment | undefined;
    try {
      // Not in turn: it may wait for another function, which opens meanwhile.
      const file = await prepare();
      environment = await whenProcessorFree(async () => (waiting.length > 0 ? await load(file) : undefined));
    } catch (error) {
      if (changes === changesBefore) waiting.shift()?.reject(error);
    }
    opening -= 1;
    if (environment) {
      loaded.set(environment, changesBefore);
      release(environment);
    } else runWaiting();
  };

  const load = async (file: string) => {
    try {
      return await loadWithin(limits.loadingInMilliseconds, file);
    } catch (error) {
      if (!hasTimedOut(error)) throw error;
      return await loadWithin(options.timeoutInMilliseconds(), file);
    }
  };

  const loadWithin = async (milliseconds: number, file: string) => {
    const environment = options.open(file, milliseconds);
    loading.add(environment);
    try {
      await environment.loaded;
      return environment;
    } catch (error) {
      await environment.end();
      throw error;
    } finally {
      loading.delete(environment);
    }
  };

  const release = (environment: Environment) => {
    clearTimeout(running.get(environment));
    running.delete(environment);
    if (environment.hasEnded || loaded.get(environment) !== changes) void end(environment);
    else idle.set(environment, setTimeout(() => void end(environment), idleInMilliseconds).unref());
    runWaiting();
  };

  /**
   * Returns an environment that has loaded the function; of several idle ones the one used last.
   * @throws {Failure} when the function cannot be loaded
   * @throws {TooManyRequests} when none has been free for too long
   */
  const acquire = async () => {
    const next = Promise.withResolvers<Environment>();
    waiting.push(next);
    runWaiting();
    if (!waiting.includes(next)) return await next.promise;
    // A new environment is waited for: the function may have to be built for it.
    const throttle = () => {
      if (opening > 0 || !waiting.includes(next)) return;
      waiting.splice(waiting.indexOf(next), 1);
      next.reject(new TooManyRequests());
    };
    const timer = setInterval(throttle, limits.gatewayInMilliseconds / 2);
    return await next.promise.finally(() => clearInterval(timer));
  };

  return {
    acquire,
    release,

    /** Opens environments until so many are ready, and ends idle ones until no more are. */
    async provision(count: number) {
      runningMax = Math.max(count, availableParallelism());
      await Promise.all([...idle.keys()].slice(count).map(end));
      const ready = await Promise.all(Array.from({ length: count }, acquire));
      for (const environment of ready) release(environment);
    },

    /** The function has changed: no invocation begins any more in an environment that was opened before. */
    async renew() {
      changes += 1;
      await Promise.all([...idle.keys()].map(end));
    },

    async close() {
      const stopping = new Failure({ errorType: "ServiceException", errorMessage: "Lambda is stopping" });
      for (const next of waiting.splice(0)) next.reject(stopping);
      await Promise.all([...loaded.keys(), ...loading].map(end));
    },
  };
}
