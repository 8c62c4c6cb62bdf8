import { listUsers } from "../../lib/contract/admin-users.ts";
import { serveList } from "../../lib/http/serve-list.ts";
import * as users from "../../lib/queries/users.ts";

export const handler = serveList(listUsers, ({ query }) => users.list(query));
