import { editRole } from "../../lib/contract/admin-roles.ts";
import { serve } from "../../lib/http/serve.ts";
import * as roles from "../../lib/queries/roles.ts";

export const handler = serve(editRole, ({ run, path, body }) => run(roles.edit(path.id, body)));
