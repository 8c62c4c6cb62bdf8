import { deletePermission } from "../../lib/contract/admin-permissions.ts";
import { serveChange } from "../../lib/http/serve-change.ts";

export const handler = serveChange(deletePermission, ({ change, path }) => change("delete_permission", path.id));
