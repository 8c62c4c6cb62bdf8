export type Variables = Readonly<Record<string, string | undefined>>;

/** How a function is configured, in the words of Lambda's own configuration. */
export interface FunctionSettings {
  /** Its environment variables, beside those of all functions. */
  readonly variables?: Variables;
  /** Default: as long as API Gateway waits. */
  readonly timeoutInMilliseconds?: number;
  readonly memoryInMegabytes?: number;
  /**
   * URLs of modules that an environment imports before the function, as `NODE_OPTIONS=--import` does. This process
   * imports them first: the threads of a process share native libraries, which are unloaded with the last that uses them.
   */
  readonly imports?: readonly string[];
}

export const memoryInMegabytesDefault = 1024;

/**
 * AWS, "Lambda quotas": 6 MB each way, 200 MB streamed. API Gateway waits 29 s for a buffered response. A machine has room
 * for fewer environments than AWS.
 */
export const lambdaLimits = {
  /** Of an event, as JSON. */
  requestBytes: 6_291_456,
  /** Of a buffered result, as JSON. */
  responseBytes: 6_291_556,
  streamedBytes: 200 * 1_048_576,
  /** Environments of one function at the same time; further invocations wait. */
  environments: 16,
  /** An invocation that has run for so long leaves its processor to another one. */
  longInMilliseconds: 500,
  /**
   * How long a function may take to load. A function that takes longer is loaded once more, within its own timeout (AWS,
   * "Understanding the Lambda execution environment lifecycle").
   */
  loadingInMilliseconds: 10_000,
  /** How long API Gateway waits. An invocation that has waited for others for half of that time is throttled. */
  gatewayInMilliseconds: 29_000,
};

export type LambdaLimits = Readonly<typeof lambdaLimits>;
