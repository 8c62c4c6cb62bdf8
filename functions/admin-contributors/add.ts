import { addContributor } from "../../lib/contract/admin-contributors.ts";
import { serve } from "../../lib/http/serve.ts";
import * as contributors from "../../lib/queries/admin-contributors.ts";
import { slugOf } from "../../lib/slug.ts";

export const handler = serve(addContributor, ({ run, query, body }) => {
  const slug = slugOf(`${body.first_name} ${body.last_name ?? ""}`, "contributor");
  return run(contributors.add({ ...body, slug, client: query.client }));
});
