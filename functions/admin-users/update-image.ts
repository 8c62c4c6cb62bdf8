import { updateUserImage } from "../../lib/contract/admin-users.ts";
import { serve } from "../../lib/http/serve.ts";
import { replaceImage } from "../../lib/images/replace.ts";

export const handler = serve(updateUserImage, ({ run, path, body }) => replaceImage(run, "users", path.id, body.image));
