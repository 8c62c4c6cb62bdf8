import { listPublications } from "../../lib/contract/publishers.ts";
import { withLanguageCodes } from "../../lib/http/language-codes.ts";
import { serveList } from "../../lib/http/serve-list.ts";
import * as publishers from "../../lib/queries/publishers.ts";

export const handler = serveList(
  listPublications,
  ({ path, query }) => publishers.publications(path.id, query),
  withLanguageCodes,
);
