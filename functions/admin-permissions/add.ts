import { addPermission } from "../../lib/contract/admin-permissions.ts";
import { keyOf } from "../../lib/contract/permissions.ts";
import { serveChange } from "../../lib/http/serve-change.ts";

export const handler = serveChange(addPermission, ({ change, body }) =>
  change("add_permission", null, { ...body, key: keyOf(body.name) }),
);
