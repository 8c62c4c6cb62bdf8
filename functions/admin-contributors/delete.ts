import { deleteContributor } from "../../lib/contract/admin-contributors.ts";
import { serve } from "../../lib/http/serve.ts";
import * as contributors from "../../lib/queries/admin-contributors.ts";

export const handler = serve(deleteContributor, ({ run, path }) => run(contributors.remove(path.id)));
