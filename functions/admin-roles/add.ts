import { addRole } from "../../lib/contract/admin-roles.ts";
import { serveChange } from "../../lib/http/serve-change.ts";

export const handler = serveChange(addRole, ({ change, body }) => change("add_role", null, body));
