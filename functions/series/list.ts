import { listSeries } from "../../lib/contract/series.ts";
import { withLanguageCodes } from "../../lib/http/language-codes.ts";
import { serveList } from "../../lib/http/serve-list.ts";
import * as series from "../../lib/queries/series.ts";

export const handler = serveList(listSeries, ({ query }) => series.list(query), withLanguageCodes);
