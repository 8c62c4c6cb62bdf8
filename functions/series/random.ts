import { getRandomSeries } from "../../lib/contract/series.ts";
import { serve } from "../../lib/http/serve.ts";
import * as series from "../../lib/queries/series.ts";

export const handler = serve(getRandomSeries, ({ query }) => series.random(query.client));
