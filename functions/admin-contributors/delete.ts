import { deleteContributor } from "../../lib/contract/admin-contributors.ts";
import { serveChange } from "../../lib/http/serve-change.ts";
import { deleteWithImage } from "../../lib/images/delete.ts";

export const handler = serveChange(deleteContributor, ({ path, ...tools }) =>
  deleteWithImage(tools, "delete_contributor", path.id),
);
