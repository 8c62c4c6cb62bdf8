import { updateAvatar } from "../../lib/contract/admin-contributors.ts";
import { serve } from "../../lib/http/serve.ts";
import { replaceImage } from "../../lib/images/replace.ts";

export const handler = serve(updateAvatar, ({ run, path, body }) =>
  replaceImage(run, "contributors", path.id, body.image),
);
