import * as adminContributors from "./admin-contributors.ts";
import * as adminPermissions from "./admin-permissions.ts";
import * as adminRoles from "./admin-roles.ts";
import * as adminUsers from "./admin-users.ts";
import * as contributors from "./contributors.ts";
import type { Declaration } from "./declare.ts";
import * as publishers from "./publishers.ts";

/** Every endpoint of the interface. Routes, functions, documents and checks iterate over this list. */
export const endpoints: readonly Declaration[] = [
  ...Object.values(adminUsers),
  ...Object.values(adminRoles),
  ...Object.values(adminPermissions),
  ...Object.values(adminContributors),
  ...Object.values(contributors),
  ...Object.values(publishers),
];
