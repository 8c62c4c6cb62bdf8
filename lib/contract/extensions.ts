import { declare } from "./declare.ts";
import { pathId, pathInteger } from "./parameters.ts";

/* Endpoints that the interface does not have (README.md, "Beyond the interface"). */

export const getSession = declare({
  summary: "Shows who is signed in, what they may do, and until when",
  method: "GET",
  path: "/session",
  needsSession: true,
  response: { record: "Session" },
  errors: {},
});

export const releaseUserLock = declare({
  summary: "Gives the caller's edit lock on a user back",
  method: "DELETE",
  path: "/admin-users/lock/{id}",
  permission: "view-users",
  parameters: { id: pathId },
  response: { message: "Lock released" },
  errors: { 404: "User not found" },
});

export const releaseContributorLock = declare({
  summary: "Gives the caller's edit lock on a contributor back",
  method: "DELETE",
  path: "/admin-contributors/lock/{id}",
  permission: "view-contributors",
  parameters: { id: pathInteger },
  response: { message: "Lock released" },
  errors: { 404: "Contributor not found" },
});
