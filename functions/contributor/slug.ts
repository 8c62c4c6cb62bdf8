import { getContributor } from "../../lib/contract/contributors.ts";
import { withLanguageCodes } from "../../lib/http/language-codes.ts";
import { serve } from "../../lib/http/serve.ts";
import * as contributors from "../../lib/queries/contributors.ts";

export const handler = serve(
  getContributor,
  ({ path, query }) => contributors.find(path.slug, query),
  withLanguageCodes,
);
