/** Operators' functions of a stage, which its stack makes one by one. */
const stageFunctions: ReadonlySet<string> = new Set([
  "ops-invalidate",
  "ops-invalidate-images",
  "ops-release-on-deploy",
  "ops-remove-images",
  "ops-smoke",
  "ops-tidy",
  "ops-undo",
]);

/** Whether a function belongs to a database, which its stages share. A new operators' function does. */
export const isOfDatabase = (name: string): boolean => name.startsWith("ops-") && !stageFunctions.has(name);
