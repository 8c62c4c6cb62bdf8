import { getPermission } from "../../lib/contract/admin-permissions.ts";
import { serve } from "../../lib/http/serve.ts";
import * as permissions from "../../lib/queries/permissions.ts";

export const handler = serve(getPermission, ({ path }) => permissions.find(path.id));
