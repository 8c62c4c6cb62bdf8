import { declare } from "./declare.ts";
import { name, pathId, requiredShortText } from "./parameters.ts";

/* Permissions (README.md, "Permissions"). */

const missing = "Permission not found";
const conflict = "Permission with the same name already exists";
const failed = "Internal server error";
const lacking = "the caller lacks the permission";

export const listPermissions = declare({
  summary: "Lists permissions",
  method: "GET",
  path: "/admin-permissions",
  permission: "view-permissions",
  response: { list: "Permission" },
  errors: {},
});

export const getPermission = declare({
  summary: "Shows a permission",
  method: "GET",
  path: "/admin-permissions/id/{id}",
  permission: "view-permissions",
  parameters: { id: pathId },
  response: { record: "Permission" },
  errors: { 404: missing },
});

export const editPermission = declare({
  summary: "Renames and describes a permission; what it opens stays the same",
  method: "POST",
  path: "/admin-permissions/edit/{id}",
  permission: "edit-permissions",
  parameters: { id: pathId },
  body: { name, description: requiredShortText },
  response: { message: "Permission updated" },
  errors: { 404: missing, 409: conflict, 500: failed },
  forbids: { 1: lacking },
});

export const addPermission = declare({
  summary: "Adds a permission for other services to use; it opens nothing here",
  method: "POST",
  path: "/admin-permissions/add",
  permission: "add-permissions",
  body: { name, description: requiredShortText },
  creates: "/admin-permissions/id/{id}",
  response: { message: "Permission added" },
  errors: { 409: conflict, 500: failed },
});

export const deletePermission = declare({
  summary: "Takes a permission from every role and deletes it",
  method: "DELETE",
  path: "/admin-permissions/delete/{id}",
  permission: "delete-permissions",
  parameters: { id: pathId },
  response: { message: "Permission deleted" },
  errors: { 404: missing, 500: failed },
  forbids: {
    1: lacking,
    3: "the Administrator role has the permission, and the caller does not have that role",
  },
});
