import { addPermission } from "../../lib/contract/admin-permissions.ts";
import { serve } from "../../lib/http/serve.ts";
import * as permissions from "../../lib/queries/permissions.ts";

export const handler = serve(addPermission, ({ run, body }) => run(permissions.add(body.name, body.description)));
