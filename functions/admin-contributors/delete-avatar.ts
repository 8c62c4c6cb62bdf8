import { deleteAvatar } from "../../lib/contract/admin-contributors.ts";
import { serveChange } from "../../lib/http/serve-change.ts";
import { changeAndRemoveImage } from "../../lib/images/orphans.ts";

export const handler = serveChange(deleteAvatar, changeAndRemoveImage("set_avatar"));
