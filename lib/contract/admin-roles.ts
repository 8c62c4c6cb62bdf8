import * as z from "zod/mini";
import { declare } from "./declare.ts";
import {
  bodyId,
  ids,
  include,
  list,
  name,
  order,
  page,
  pathId,
  queryId,
  recordOrders,
  requiredShortText,
  search,
  shortText,
} from "./parameters.ts";

/* Roles (README.md, "Roles"). */

const missing = "Role not found";
const conflict = "Role with the same name already exists";
const failed = "Internal server error";

const permissionsMax = 500;
const permissions = list(bodyId, permissionsMax);

export const listRoles = declare("GET /admin-roles", {
  summary: "Lists roles with the number of their permissions and users",
  permission: "view-roles",
  extensionQuery: {
    include: include("version", "changed"),
    order: order(...recordOrders),
    ...page,
    search,
    ids,
    permission: z.optional(queryId),
  },
  response: { list: "RoleListItem" },
});

export const getRole = declare("GET /admin-roles/id/{id}", {
  summary: "Shows a role with its permissions",
  permission: "view-roles",
  parameters: { id: pathId },
  response: { record: "Role" },
  errors: { 404: missing },
});

export const editRole = declare("POST /admin-roles/edit/{id}", {
  summary: "Changes a role's name, description and permissions",
  permission: "edit-roles",
  parameters: { id: pathId },
  body: {
    name,
    description: z.optional(z.nullable(shortText)),
    added_permissions: permissions,
    removed_permissions: permissions,
  },
  response: { message: "Role updated" },
  errors: { 404: missing, 409: conflict, 500: failed },
  forbids: {
    1: "an added permission is one that the caller lacks",
    2: "a removed permission is one that a user who outranks the caller has through this role alone",
    3: "it is the Administrator role, and the caller does not have it, or a permission is removed from it",
  },
});

export const addRole = declare("POST /admin-roles/add", {
  summary: "Adds a role without permissions",
  permission: "add-roles",
  body: { name, description: requiredShortText },
  creates: "/admin-roles/id/{id}",
  response: { message: "Role added" },
  errors: { 409: conflict, 500: failed },
});

export const deleteRole = declare("DELETE /admin-roles/delete/{id}", {
  summary: "Deletes a role; users who held only this one get the default role",
  permission: "delete-roles",
  parameters: { id: pathId },
  response: { message: "Role deleted" },
  errors: { 404: missing, 405: "Cannot delete default role", 500: failed },
  forbids: {
    1: "users would get the default role, which has a permission that the caller lacks",
    2: "a user who outranks the caller has a permission through this role alone",
    3: "it is the Administrator role",
  },
});
