import { getSession } from "../lib/contract/extensions.ts";
import { serve } from "../lib/http/serve.ts";
import * as sessions from "../lib/queries/sessions.ts";

export const handler = serve(getSession, () => sessions.find());
