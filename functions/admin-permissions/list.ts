import { listPermissions } from "../../lib/contract/admin-permissions.ts";
import { serveList } from "../../lib/http/serve-list.ts";
import * as permissions from "../../lib/queries/permissions.ts";

export const handler = serveList(listPermissions, ({ query }) => permissions.list(query));
