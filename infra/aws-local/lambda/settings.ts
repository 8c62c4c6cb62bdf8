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

export interface LambdaLimits {
  /** Of an event, as JSON. */
  readonly requestBytes: number;
  /** Of a buffered result, as JSON. */
  readonly responseBytes: number;
  readonly streamedBytes: number;
  /** Environments of one function at the same time; further invocations wait. */
  readonly environments: number;
  /** An invocation that has run for so long leaves its processor to another one. */
  readonly longInMilliseconds: number;
  /** How long API Gateway waits. An invocation that has waited for others for half of that time is throttled. */
  readonly gatewayInMilliseconds: number;
}

/**
 * AWS, "Lambda quotas": 6 MB each way, 200 MB streamed. API Gateway waits 29 s for a buffered response. A machine has room
 * for fewer environments than AWS.
 */
export const lambdaLimits: LambdaLimits = {
  requestBytes: 6_291_456,
  responseBytes: 6_291_556,
  streamedBytes: 200 * 1_048_576,
  environments: 16,
  longInMilliseconds: 500,
  gatewayInMilliseconds: 29_000,
};
