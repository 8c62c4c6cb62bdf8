import { getRandomPublisher } from "../../lib/contract/publishers.ts";
import { serve } from "../../lib/http/serve.ts";
import * as publishers from "../../lib/queries/publishers.ts";

export const handler = serve(getRandomPublisher, ({ query }) => publishers.random(query.client));
