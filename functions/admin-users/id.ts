import { getUser } from "../../lib/contract/admin-users.ts";
import { serve } from "../../lib/http/serve.ts";
import * as users from "../../lib/queries/users.ts";

export const handler = serve(getUser, ({ path, query }) => users.find(path.id, query));
