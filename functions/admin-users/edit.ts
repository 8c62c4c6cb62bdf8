import { editUser } from "../../lib/contract/admin-users.ts";
import { serveChange } from "../../lib/http/serve-change.ts";

export const handler = serveChange(editUser, ({ change, path, body }) => change("edit_user", path.id, body));
