/** The event is larger than Lambda accepts. */
export class RequestTooLarge extends Error {
  override readonly name = "RequestTooLargeException";
}

/** Which limit is reached: that of all functions, or what is reserved for this one (Lambda API reference, "Invoke"). */
type ThrottleReason = "ConcurrentInvocationLimitExceeded" | "ReservedFunctionConcurrentInvocationLimitExceeded";

/** The invocation is throttled: it has not begun, and never will. */
export class TooManyRequests extends Error {
  override readonly name = "TooManyRequestsException";
  readonly reason: ThrottleReason;

  constructor(reason: ThrottleReason) {
    super("Rate Exceeded.");
    this.reason = reason;
  }
}
