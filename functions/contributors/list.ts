import { listContributors } from "../../lib/contract/contributors.ts";
import { serveList } from "../../lib/http/serve-list.ts";
import * as contributors from "../../lib/queries/contributors.ts";

export const handler = serveList(listContributors, ({ query }) => contributors.list(query));
