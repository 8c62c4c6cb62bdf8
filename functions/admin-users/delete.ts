import { deleteUser } from "../../lib/contract/admin-users.ts";
import { serveChange } from "../../lib/http/serve-change.ts";
import { deleteWithImage } from "../../lib/images/delete.ts";

export const handler = serveChange(deleteUser, ({ path, ...tools }) => deleteWithImage(tools, "delete_user", path.id));
