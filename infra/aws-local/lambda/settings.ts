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
