import { logOutUser } from "../../lib/contract/admin-users.ts";
import { serveChange } from "../../lib/http/serve-change.ts";

export const handler = serveChange(logOutUser, ({ change, path }) => change("log_out_user", path.id));
