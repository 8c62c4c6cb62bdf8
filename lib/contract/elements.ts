import * as z from "zod/mini";
import { bodyId, languageName, name, requiredText, source } from "./parameters.ts";

/*
 * Elements of an edited contributor that are objects (README.md, "Edits"). The OpenAPI document uses the same names for
 * its components.
 */

export const AddedDescription = z.object({
  description: requiredText,
  language: languageName,
  source: z._default(source, ""),
});

export const AddedRelation = z.object({ relation_id: bodyId, relation_type: name });

/** A changed element has its id and the fields that change. */
export const ChangedDescription = z.object({
  id: bodyId,
  description: z.optional(requiredText),
  language: z.optional(languageName),
  source: z.optional(source),
});

export const ChangedRelation = z.object({
  id: bodyId,
  relation_id: z.optional(bodyId),
  relation_type: z.optional(name),
});
