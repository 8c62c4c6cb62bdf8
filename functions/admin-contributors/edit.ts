import { editContributor } from "../../lib/contract/admin-contributors.ts";
import { serveChange } from "../../lib/http/serve-change.ts";

export const handler = serveChange(editContributor, ({ change, path, body }) =>
  change("edit_contributor", path.id, body),
);
