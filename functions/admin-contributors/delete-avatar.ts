import { deleteAvatar } from "../../lib/contract/admin-contributors.ts";
import { serve } from "../../lib/http/serve.ts";
import { clearImage } from "../../lib/images/clear.ts";

export const handler = serve(deleteAvatar, ({ run, path }) => clearImage(run, "contributors", path.id));
