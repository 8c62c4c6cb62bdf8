import { deletePermission } from "../../lib/contract/admin-permissions.ts";
import { serve } from "../../lib/http/serve.ts";
import * as permissions from "../../lib/queries/permissions.ts";

export const handler = serve(deletePermission, ({ run, path }) => run(permissions.remove(path.id)));
