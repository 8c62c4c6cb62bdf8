import * as z from "zod/mini";
import { declare } from "./declare.ts";
import { id, limit, numericId, offset, optionalText, order, search, slug, userLanguage } from "./parameters.ts";

/* Public publishers (README.md, "Public publishers (no authentication)"). */

export const listPublishers = declare({
  summary: "Lists publishers",
  method: "GET",
  path: "/publishers",
  query: {
    lang: optionalText,
    order: z.optional(z.enum(["name-asc", "name-desc", "added-asc", "added-desc"])),
    search,
    limit,
    offset,
  },
  answers: { list: "PublisherListItem", field: "publishers", count: true },
  errors: {},
});

export const getPublisher = declare({
  summary: "Looks up a publisher by slug",
  method: "GET",
  path: "/publisher/slug/{slug}",
  parameters: { slug },
  answers: { record: "Publisher" },
  errors: { 404: "Publisher not found" },
});

export const getRandomPublisher = declare({
  summary: "Gives the slug of a random publisher of a client",
  method: "GET",
  path: "/publisher/random",
  query: { client: id },
  answers: { record: "Slug" },
  errors: { 404: "Publisher not found" },
  volatile: true,
});

export const listPublications = declare({
  summary: "Lists the series a publisher published",
  method: "GET",
  path: "/publisher/publications/{id}",
  parameters: { id: numericId },
  query: {
    limit,
    offset,
    search,
    order: order("name-asc", "name-desc", "added-asc", "added-desc"),
    client: id,
    user_lang: userLanguage,
  },
  answers: { list: "Publication", field: "publications" },
  errors: {},
});
