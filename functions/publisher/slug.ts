import { getPublisher } from "../../lib/contract/publishers.ts";
import { serve } from "../../lib/http/serve.ts";
import * as publishers from "../../lib/queries/publishers.ts";

export const handler = serve(getPublisher, ({ path }) => publishers.find(path.slug));
