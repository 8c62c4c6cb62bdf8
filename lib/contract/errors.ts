/** Errors of every endpoint (README.md, "Errors", "Bad input" and "Authentication"). */
export const commonErrors = {
  400: "Required parameters missing",
  401: "Unauthorized",
  403: "Forbidden",
  412: "Precondition failed",
  413: "Request too long",
  415: "Unsupported media type",
  500: "Internal server error",
  503: "Service unavailable, try again in a few seconds",
} as const;

type Messages = Readonly<Partial<Record<number, string>>>;

/** The message that is declared for a status of this endpoint. */
export function messageOf({ errors }: { readonly errors: Messages }, status: number): string {
  const messages: Messages = { ...commonErrors, ...errors };
  const message = messages[status];
  if (message === undefined) throw new TypeError(`No message is declared for status ${status}`);
  return message;
}

/** The message of status 503 for a change that was not made. After the usual one it may have been: its outcome is lost. */
export const nothingChanged = "Service unavailable, nothing was changed";

/** What a schema says of a value that has the right type and is still not accepted. */
export const invalid = "Invalid value";

/** The message of status 400 for one invalid parameter. */
export const invalidParameter = (name: string) => `Invalid parameter: ${name}`;

/** The messages of status 403 by the rules in README.md, "Who may do what". */
export const forbiddenByRule = {
  1: "Forbidden: you cannot grant what you lack",
  2: "Forbidden: you cannot act on a user who outranks you",
  3: "Forbidden: the Administrator role belongs to its users",
} as const;

/** The message of status 503 if the endpoint needs a file service and there is none. */
export const noFileService = "This service is not handling file uploads.";

/** The message of status 503 of sign-in and sign-out on an instance without them. */
export const noSignIn = "This service is not handling sign-in.";
