/** Errors every endpoint can give (README.md, "Errors", "Bad input" and "Authentication"). */
export const commonErrors = {
  400: "Required parameters missing",
  401: "Unauthorized",
  403: "Forbidden",
  412: "Precondition failed",
  413: "Request too long",
  500: "Internal server error",
  503: "Service unavailable, try again in a few seconds",
} as const;

/** An optional parameter that cannot be read, or a value that cannot be accepted: status 400. */
export const invalidParameter = (name: string) => `Invalid parameter: ${name}`;

/** The answer of endpoints that need a file service where there is none: status 503. */
export const noFileService = "This service is not handling file uploads.";
