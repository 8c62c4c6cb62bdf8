import { editRole } from "../../lib/contract/admin-roles.ts";
import { serveChange } from "../../lib/http/serve-change.ts";

export const handler = serveChange(editRole, ({ change, path, body }) => change("edit_role", path.id, body));
