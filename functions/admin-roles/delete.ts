import { deleteRole } from "../../lib/contract/admin-roles.ts";
import { serveChange } from "../../lib/http/serve-change.ts";

export const handler = serveChange(deleteRole, ({ change, path }) => change("delete_role", path.id));
