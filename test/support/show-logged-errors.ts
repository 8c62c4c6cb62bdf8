import { afterEach, beforeEach } from "vitest";
import { loggedErrors } from "./logged-errors.ts";

/* Beside what a failed test has received stands what the functions have logged. */

beforeEach(() => {
  loggedErrors.length = 0;
});

afterEach(({ task }) => {
  const [error] = task.result?.errors ?? [];
  if (error && loggedErrors.length > 0)
    error.message = [error.message, "The functions have logged:", ...loggedErrors.slice(-5)].join("\n\n");
});
