/** Operators' functions of a database, which its stages share. All other functions belong to a stage. */
export const databaseFunctions: ReadonlySet<string> = new Set([
  "ops-migrate",
  "ops-migrate-on-deploy",
  "ops-rotate-password",
  "ops-create-user",
  "ops-end-sessions",
  "ops-issue-refresh-token",
  "ops-link-identity",
  "ops-import",
  "ops-list-changes",
  "ops-merge-contributors",
  "ops-export",
  "ops-check-copy",
]);
