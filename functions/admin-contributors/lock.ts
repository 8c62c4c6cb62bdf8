import { releaseContributorLock } from "../../lib/contract/extensions.ts";
import { serveChange } from "../../lib/http/serve-change.ts";

export const handler = serveChange(releaseContributorLock, ({ change, path }) =>
  change("release_contributor_lock", path.id),
);
