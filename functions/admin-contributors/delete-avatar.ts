import { deleteAvatar } from "../../lib/contract/admin-contributors.ts";
import { serveChange } from "../../lib/http/serve-change.ts";
import { clearImage } from "../../lib/images/clear.ts";

export const handler = serveChange(deleteAvatar, ({ path, ...tools }) => clearImage(tools, "contributors", path.id));
