import { listSeriesLetters } from "../../lib/contract/series.ts";
import { serve } from "../../lib/http/serve.ts";
import * as series from "../../lib/queries/series.ts";

export const handler = serve(listSeriesLetters, ({ query }) => series.letters(query.client));
