import { editPermission } from "../../lib/contract/admin-permissions.ts";
import { keyOf } from "../../lib/contract/permissions.ts";
import { serveChange } from "../../lib/http/serve-change.ts";

export const handler = serveChange(editPermission, ({ change, path, body }) =>
  change("edit_permission", path.id, { ...body, key: keyOf(body.name) }),
);
