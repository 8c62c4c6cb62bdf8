import { type Declaration, isPublic } from "../contract/declare.ts";
import { type Patience, publicPatience, usualPatience } from "../retry.ts";

/** How long the calls of a read may take: what visitors read ends before the edge gives up. */
export const patienceOf = (declaration: Declaration): Patience =>
  isPublic(declaration) ? publicPatience : usualPatience;
