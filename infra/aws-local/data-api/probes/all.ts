import { serviceLimits } from "../limits.ts";
import { errors } from "./errors.ts";
import { parameters } from "./parameters.ts";
import { results } from "./results.ts";
import { sizes } from "./sizes.ts";
import { timeOuts, transactions } from "./transactions.ts";
import { types } from "./types.ts";

/** The probes by theme; `timeOuts` wait as long as these limits say. */
export const themesOf = (limits = serviceLimits) => ({
  types,
  parameters,
  results,
  errors,
  sizes,
  transactions,
  timeOuts: timeOuts(limits),
});
