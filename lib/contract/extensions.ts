import { declare } from "./declare.ts";
import { pathId, pathInteger, queryId } from "./parameters.ts";

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

export const listContributorLetters = declare("GET /contributors/letters", {
  summary: "Counts the published contributors of a client by the letter under which they are sorted",
  query: { client: queryId },
  response: { record: "Letters" },
});

export const listPublisherLetters = declare("GET /publishers/letters", {
  summary: "Counts the publishers by the first letter of their name",
  response: { record: "Letters" },
});
