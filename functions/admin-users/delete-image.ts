import { deleteUserImage } from "../../lib/contract/admin-users.ts";
import { serveChange } from "../../lib/http/serve-change.ts";
import { removeImage } from "../../lib/images/remove.ts";

export const handler = serveChange(deleteUserImage, ({ path, ...tools }) => removeImage(tools, "users", path.id));
