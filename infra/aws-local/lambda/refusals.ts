/** The event is larger than Lambda accepts. */
export class RequestTooLarge extends Error {
  override readonly name = "RequestTooLargeException";
}

/** The invocation is throttled (Lambda API reference, "Invoke"): it has not begun, and never will. */
export class TooManyRequests extends Error {
  override readonly name = "TooManyRequestsException";
  readonly reason = "ConcurrentInvocationLimitExceeded";

  constructor() {
    super("Rate Exceeded.");
  }
}
