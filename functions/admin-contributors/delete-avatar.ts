import { deleteAvatar } from "../../lib/contract/admin-contributors.ts";
import { serveChange } from "../../lib/http/serve-change.ts";
import { removeImage } from "../../lib/images/remove.ts";

export const handler = serveChange(deleteAvatar, ({ path, ...tools }) => removeImage(tools, "contributors", path.id));
