/** Errors that every endpoint can answer (README.md, "Errors", "Bad input" and "Authentication"). */
export const commonErrors = {
  400: "Required parameters missing",
  401: "Unauthorized",
  403: "Forbidden",
  412: "Precondition failed",
  413: "Request too long",
  500: "Internal server error",
  503: "Service unavailable, try again in a few seconds",
} as const;

/** The message of status 503 for a change that may have been made: its outcome is lost. The usual one means that it was not. */
export const outcomeUnknown = "Service unavailable, the change may have been made";

/** The message of status 400 for one invalid parameter. */
export const invalidParameter = (name: string) => `Invalid parameter: ${name}`;

/** The message of status 503 if the endpoint needs a file service and there is none. */
export const noFileService = "This service is not handling file uploads.";
