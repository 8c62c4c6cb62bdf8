import { listAdminContributors } from "../../lib/contract/admin-contributors.ts";
import { serveList } from "../../lib/http/serve-list.ts";
import * as contributors from "../../lib/queries/admin-contributors.ts";

export const handler = serveList(listAdminContributors, ({ query }) => contributors.list(query));
