import { getRole } from "../../lib/contract/admin-roles.ts";
import { serve } from "../../lib/http/serve.ts";
import * as roles from "../../lib/queries/roles.ts";

export const handler = serve(getRole, ({ path }) => roles.find(path.id));
