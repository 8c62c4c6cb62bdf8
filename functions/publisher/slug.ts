import { getPublisher } from "../../lib/contract/publishers.ts";
import { withLanguageCodes } from "../../lib/http/language-codes.ts";
import { serve } from "../../lib/http/serve.ts";
import * as publishers from "../../lib/queries/publishers.ts";

export const handler = serve(getPublisher, ({ path, query }) => publishers.find(path.slug, query), withLanguageCodes);
