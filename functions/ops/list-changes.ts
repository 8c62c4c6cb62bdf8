import * as z from "zod/mini";
import { name } from "../../lib/contract/parameters.ts";
import { readPage } from "../../lib/data-api/list.ts";
import { operatorFunction } from "../../lib/operators/operator-function.ts";
import * as changes from "../../lib/queries/changes.ts";

const limitDefault = 50;
const limitMax = 1_000;

const id = z.int().check(z.positive());
const time = z.iso.datetime({ offset: true });

/**
 * Shows who changed what, newest first, as many changes as fit into one result of the Data API. For the following ones
 * pass `next` as `before`; it is null after the last change.
 */
export const handler = operatorFunction(
  "ops/list-changes",
  z.looseObject({
    user: z.optional(z.union([id, name])),
    endpoint: z.optional(z.string().check(z.regex(/^[a-z-]+(\/[a-z-]+)?$/))),
    record: z.optional(id),
    since: z.optional(time),
    until: z.optional(time),
    before: z.optional(id),
    limit: z._default(id.check(z.maximum(limitMax)), limitDefault),
  }),
  async ({ before, limit, ...filters }) => {
    const after = before === undefined ? undefined : { id: before };
    const { text, next } = await readPage(changes.list(filters), { after, limit });
    return { changes: JSON.parse(`[${text}]`), next: next?.id ?? null };
  },
);
