import { ServiceError } from "../http/service-error.ts";

/** The event is larger than Lambda accepts. */
export class RequestTooLarge extends ServiceError {
  constructor(message: string) {
    super(413, "RequestTooLargeException", message);
  }
}

/** The invocation is throttled (Lambda API reference, "Invoke"): it has not begun, and never will. */
export class TooManyRequests extends ServiceError {
  constructor() {
    super(429, "TooManyRequestsException", "Rate Exceeded.", { Reason: "ConcurrentInvocationLimitExceeded" });
  }
}
