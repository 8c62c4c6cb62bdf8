import { addContributor } from "../../lib/contract/admin-contributors.ts";
import { slugOf } from "../../lib/contract/slug.ts";
import { serveChange } from "../../lib/http/serve-change.ts";

export const handler = serveChange(addContributor, ({ change, query, body }) => {
  const { first_name, last_name, disambiguation, sort_name } = body;
  const slug = slugOf([`${first_name} ${last_name ?? ""}`, sort_name ?? ""], "contributor", disambiguation);
  return change("add_contributor", null, { ...body, ...query, slug });
});
