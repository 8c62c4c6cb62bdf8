import { listPublisherLetters } from "../../lib/contract/extensions.ts";
import { serve } from "../../lib/http/serve.ts";
import * as publishers from "../../lib/queries/publishers.ts";

export const handler = serve(listPublisherLetters, () => publishers.letters());
