import { serviceLimits } from "../limits.ts";
import { arrays } from "./arrays.ts";
import { errors } from "./errors.ts";
import { parameters } from "./parameters.ts";
import { results } from "./results.ts";
import { sizes } from "./sizes.ts";
import { batches, timeOuts, transactions } from "./transactions.ts";
import { types } from "./types.ts";

/** The probes by theme; `timeOuts` wait as long as these limits say. */
export const themesOf = (limits = serviceLimits) => ({
  types,
  arrays,
  parameters,
  results,
  errors,
  sizes,
  transactions,
  batches,
  timeOuts: timeOuts(limits),
});
