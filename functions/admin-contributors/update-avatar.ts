import { updateAvatar } from "../../lib/contract/admin-contributors.ts";
import { serveChange } from "../../lib/http/serve-change.ts";
import { replaceImage } from "../../lib/images/replace.ts";

export const handler = serveChange(
  updateAvatar,
  replaceImage("contributors", { prepare: "prepare_avatar", set: "set_avatar" }),
);
