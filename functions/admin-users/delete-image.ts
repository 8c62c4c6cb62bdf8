import { deleteUserImage } from "../../lib/contract/admin-users.ts";
import { serve } from "../../lib/http/serve.ts";
import { clearImage } from "../../lib/images/clear.ts";

export const handler = serve(deleteUserImage, ({ run, path }) => clearImage(run, "users", path.id));
