import { releaseUserLock } from "../../lib/contract/extensions.ts";
import { serveChange } from "../../lib/http/serve-change.ts";

export const handler = serveChange(releaseUserLock, ({ change, path }) => change("release_user_lock", path.id));
