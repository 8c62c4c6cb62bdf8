import { editUser } from "../../lib/contract/admin-users.ts";
import { serve } from "../../lib/http/serve.ts";
import * as users from "../../lib/queries/users.ts";

export const handler = serve(editUser, ({ run, path, body }) => run(users.edit(path.id, body)));
