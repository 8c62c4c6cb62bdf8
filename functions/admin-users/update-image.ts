import { updateUserImage } from "../../lib/contract/admin-users.ts";
import { serveChange } from "../../lib/http/serve-change.ts";
import { replaceImage } from "../../lib/images/replace.ts";

export const handler = serveChange(
  updateUserImage,
  replaceImage("users", { prepare: "prepare_user_image", set: "set_user_image" }),
);
