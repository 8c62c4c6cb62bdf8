import { listContributorLetters } from "../../lib/contract/extensions.ts";
import { serve } from "../../lib/http/serve.ts";
import * as contributors from "../../lib/queries/contributors.ts";

export const handler = serve(listContributorLetters, ({ query }) => contributors.letters(query.client));
