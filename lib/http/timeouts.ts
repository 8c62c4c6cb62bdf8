import { publicTimeouts, type RequestTimeouts, usualTimeouts } from "../aws/retry.ts";
import { type Declaration, isPublic } from "../contract/declare.ts";

/** How long the calls of a read may take: what visitors read ends before the edge gives up. */
export const timeoutsOf = (declaration: Declaration): RequestTimeouts =>
  isPublic(declaration) ? publicTimeouts : usualTimeouts;
