import { listWorks } from "../../lib/contract/contributors.ts";
import { withLanguageCodes } from "../../lib/http/language-codes.ts";
import { serveList } from "../../lib/http/serve-list.ts";
import * as contributors from "../../lib/queries/contributors.ts";

export const handler = serveList(listWorks, ({ path, query }) => contributors.works(path.id, query), withLanguageCodes);
