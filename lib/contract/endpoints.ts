import * as adminContributors from "./admin-contributors.ts";
import * as adminPermissions from "./admin-permissions.ts";
import * as adminRoles from "./admin-roles.ts";
import * as adminUsers from "./admin-users.ts";
import * as contributors from "./contributors.ts";
import { type Declaration, endpointPath } from "./declare.ts";
import * as extensions from "./extensions.ts";
import * as publishers from "./publishers.ts";
import * as series from "./series.ts";
import * as signIn from "./sign-in.ts";

/**
 * Every endpoint, by its resource in the interface, or beyond it, and by the name of its declaration. The OpenAPI document
 * and its reference have this order: first what needs no sign-in.
 */
export const resources: Readonly<Record<string, Readonly<Record<string, Declaration>>>> = {
  "Public contributors": contributors,
  "Public publishers": publishers,
  Users: adminUsers,
  Roles: adminRoles,
  Permissions: adminPermissions,
  "Administrative contributors": adminContributors,
  "Beyond the interface": { ...extensions, ...series, ...signIn },
};

/** Every endpoint. Routes, functions, documents and checks iterate over this list. */
export const endpoints: readonly Declaration[] = Object.values(resources).flatMap((each) => Object.values(each));

/** The endpoint with this path in `functions/`: `admin-roles/edit`. */
export const endpointAt = (path: string): Declaration | undefined =>
  endpoints.find((each) => endpointPath(each) === path);
