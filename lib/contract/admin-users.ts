import * as z from "zod/mini";
import { declare } from "./declare.ts";
import { noFileService } from "./errors.ts";
import {
  bodyId,
  flag,
  ids,
  image,
  include,
  list,
  lock,
  name,
  order,
  page,
  pathId,
  recordOrders,
  search,
} from "./parameters.ts";

/* Users (README.md, "Users"). */

const missing = { 404: "User not found" } as const;
const failing = { ...missing, 500: "Internal server error" } as const;
const outranked = "the user outranks the caller";

export const listUsers = declare("GET /admin-users", {
  summary: "Lists users with their roles and who is editing them",
  permission: "view-users",
  query: {
    order: order("name-asc", "name-desc", "registered-asc", "registered-desc", ...recordOrders),
    ...page,
    search,
    role: z.optional(pathId),
  },
  extensionQuery: { include: include("version", "changed"), ids },
  response: { list: "UserListItem", field: "users" },
});

export const getUser = declare("GET /admin-users/id/{id}", {
  summary: "Shows a user; opens an edit lock for callers who may edit",
  permission: "view-users",
  parameters: { id: pathId },
  extensionQuery: { lock },
  response: { record: "User" },
  errors: missing,
  takesEditLock: true,
});

export const editUser = declare("POST /admin-users/edit/{id}", {
  summary: "Changes a user's name, age verification and roles; a merge patch only those that it names",
  permission: "edit-users",
  parameters: { id: pathId },
  body: { username: name, age_verified: flag, added_roles: list(bodyId), removed_roles: list(bodyId) },
  mergePatch: true,
  response: { message: "User updated" },
  errors: { ...failing, 409: "Username already taken" },
  forbids: {
    1: "an added role, or the default role in place of the last one, has a permission that the caller lacks",
    2: outranked,
    3: "the Administrator role is added or removed by a caller who does not have it, or removed from its last user",
  },
});

export const deleteUser = declare("DELETE /admin-users/delete/{id}", {
  summary: "Deletes a user and all that belongs to them",
  permission: "delete-users",
  parameters: { id: pathId },
  response: { message: "User deleted" },
  errors: failing,
  forbids: {
    2: outranked,
    3: "the user has the Administrator role, and the caller does not, or no other user has it",
  },
  deletesImage: true,
});

export const logOutUser = declare("POST /admin-users/logout/{id}", {
  summary: "Logs a user out by revoking their refresh tokens",
  permission: "edit-users",
  parameters: { id: pathId },
  response: { message: "User logged out" },
  errors: failing,
  forbids: { 2: outranked },
});

export const updateUserImage = declare("POST /admin-users/update-image/{id}", {
  summary: "Sets a user's profile image",
  permission: "edit-users",
  parameters: { id: pathId },
  body: { image },
  response: { message: "Profile image updated" },
  errors: { ...failing, 503: noFileService },
  forbids: { 2: outranked },
  needsFileService: true,
});

export const deleteUserImage = declare("DELETE /admin-users/delete-image/{id}", {
  summary: "Removes a user's profile image",
  permission: "edit-users",
  parameters: { id: pathId },
  response: { message: "Profile image deleted" },
  errors: { ...failing, 503: noFileService },
  forbids: { 2: outranked },
  needsFileService: true,
});
