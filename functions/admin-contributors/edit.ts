import { editContributor } from "../../lib/contract/admin-contributors.ts";
import { serve } from "../../lib/http/serve.ts";
import * as contributor from "../../lib/queries/admin-contributor-edit.ts";

export const handler = serve(editContributor, ({ run, path, body }) => run(contributor.edit(path.id, body)));
