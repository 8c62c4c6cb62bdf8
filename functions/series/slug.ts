import { getSeries } from "../../lib/contract/series.ts";
import { withLanguageCodes } from "../../lib/http/language-codes.ts";
import { serve } from "../../lib/http/serve.ts";
import * as series from "../../lib/queries/series.ts";

export const handler = serve(getSeries, ({ path, query }) => series.find(path.slug, query), withLanguageCodes);
