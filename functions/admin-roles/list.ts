import { listRoles } from "../../lib/contract/admin-roles.ts";
import { serveList } from "../../lib/http/serve-list.ts";
import * as roles from "../../lib/queries/roles.ts";

export const handler = serveList(listRoles, ({ query }) => roles.list(query));
