import { declare } from "./declare.ts";
import { ids, include, name, order, page, pathId, recordOrders, requiredShortText, search } from "./parameters.ts";

/* Permissions (README.md, "Permissions"). */

const missing = "Permission not found";
const conflict = "Permission with the same name already exists";
const failed = "Internal server error";
const lacking = "the caller lacks the permission";

export const listPermissions = declare("GET /admin-permissions", {
  summary: "Lists permissions",
  permission: "view-permissions",
  extensionQuery: { include: include("version", "changed"), order: order(...recordOrders), ...page, search, ids },
  response: { list: "PermissionListItem" },
});

export const getPermission = declare("GET /admin-permissions/id/{id}", {
  summary: "Shows a permission",
  permission: "view-permissions",
  parameters: { id: pathId },
  response: { record: "Permission" },
  errors: { 404: missing },
});

export const editPermission = declare("POST /admin-permissions/edit/{id}", {
  summary: "Renames and describes a permission; what it opens stays the same",
  permission: "edit-permissions",
  parameters: { id: pathId },
  body: { name, description: requiredShortText },
  response: { message: "Permission updated" },
  errors: { 404: missing, 409: conflict, 500: failed },
  forbids: { 1: lacking },
});

export const addPermission = declare("POST /admin-permissions/add", {
  summary: "Adds a permission for other services to use; it opens nothing here",
  permission: "add-permissions",
  body: { name, description: requiredShortText },
  creates: "/admin-permissions/id/{id}",
  response: { message: "Permission added" },
  errors: { 409: conflict, 500: failed },
});

export const deletePermission = declare("DELETE /admin-permissions/delete/{id}", {
  summary: "Takes a permission from every role and deletes it",
  permission: "delete-permissions",
  parameters: { id: pathId },
  response: { message: "Permission deleted" },
  errors: { 404: missing, 500: failed },
  forbids: {
    1: lacking,
    3: "the Administrator role has the permission, and the caller does not have that role",
  },
});
