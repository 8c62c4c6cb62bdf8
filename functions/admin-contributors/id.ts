import { getAdminContributor } from "../../lib/contract/admin-contributors.ts";
import { withLanguageCodes } from "../../lib/http/language-codes.ts";
import { serve } from "../../lib/http/serve.ts";
import * as contributors from "../../lib/queries/admin-contributors.ts";

export const handler = serve(
  getAdminContributor,
  ({ path, query }) => contributors.find(path.id, query),
  withLanguageCodes,
);
