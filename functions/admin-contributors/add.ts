import { addContributor } from "../../lib/contract/admin-contributors.ts";
import { slugOf } from "../../lib/contract/slug.ts";
import { serveChange } from "../../lib/http/serve-change.ts";

export const handler = serveChange(addContributor, ({ change, query, body }) => {
  const slug = slugOf([`${body.first_name} ${body.last_name ?? ""}`], "contributor");
  return change("add_contributor", null, { ...body, ...query, slug });
});
