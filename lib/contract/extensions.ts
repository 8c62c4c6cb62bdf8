import { declare } from "./declare.ts";
import { pathId, pathInteger } from "./parameters.ts";

/* Endpoints that the interface does not have (README.md, "Beyond the interface"). */

export const getSession = declare("GET /session", {
  summary: "Shows who is signed in, what they may do, and until when",
  needsSession: true,
  response: { record: "Session" },
});

export const releaseUserLock = declare("DELETE /admin-users/lock/{id}", {
  summary: "Gives the caller's edit lock on a user back",
  permission: "view-users",
  parameters: { id: pathId },
  response: { message: "Lock released" },
  errors: { 404: "User not found" },
});

export const releaseContributorLock = declare("DELETE /admin-contributors/lock/{id}", {
  summary: "Gives the caller's edit lock on a contributor back",
  permission: "view-contributors",
  parameters: { id: pathInteger },
  response: { message: "Lock released" },
  errors: { 404: "Contributor not found" },
});
