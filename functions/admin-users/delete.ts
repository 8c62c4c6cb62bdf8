import { deleteUser } from "../../lib/contract/admin-users.ts";
import { serveChange } from "../../lib/http/serve-change.ts";
import { changeAndRemoveImage } from "../../lib/images/remove.ts";

export const handler = serveChange(deleteUser, ({ path, ...tools }) =>
  changeAndRemoveImage(tools, "delete_user", path.id),
);
