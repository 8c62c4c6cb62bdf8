import { deleteUserImage } from "../../lib/contract/admin-users.ts";
import { serveChange } from "../../lib/http/serve-change.ts";
import { changeAndRemoveImage } from "../../lib/images/orphans.ts";

export const handler = serveChange(deleteUserImage, changeAndRemoveImage("set_user_image"));
