import { deleteUserImage } from "../../lib/contract/admin-users.ts";
import { serveChange } from "../../lib/http/serve-change.ts";
import { clearImage } from "../../lib/images/clear.ts";

export const handler = serveChange(deleteUserImage, ({ path, ...tools }) => clearImage(tools, "users", path.id));
