import * as z from "zod/mini";
import { declare } from "./declare.ts";
import { limit, offset, optionalText, order, pathInteger, queryId, search, slug, userLanguage } from "./parameters.ts";

/* Public publishers (README.md, "Public publishers (no authentication)"). */

export const listPublishers = declare("GET /publishers", {
  summary: "Lists publishers",
  query: {
    lang: optionalText,
    order: z.optional(z.enum(["name-asc", "name-desc", "added-asc", "added-desc"])),
    search,
    limit,
    offset,
  },
  response: { list: "PublisherListItem", field: "publishers", count: true },
  tags: ["publishers", "series"],
});

export const getPublisher = declare("GET /publisher/slug/{slug}", {
  summary: "Looks up a publisher by slug",
  parameters: { slug },
  response: { record: "Publisher" },
  errors: { 404: "Publisher not found" },
});

export const getRandomPublisher = declare("GET /publisher/random", {
  summary: "Gives the slug of a random publisher of a client",
  query: { client: queryId },
  response: { record: "Slug" },
  errors: { 404: "Publisher not found" },
  notCacheable: true,
});

export const listPublications = declare("GET /publisher/publications/{id}", {
  summary: "Lists the series a publisher published",
  parameters: { id: pathInteger },
  query: {
    limit,
    offset,
    search,
    order: order("name-asc", "name-desc", "added-asc", "added-desc"),
    client: queryId,
    user_lang: userLanguage,
  },
  response: { list: "Publication", field: "publications" },
  tags: ["publisher-{id}", "series"],
});
