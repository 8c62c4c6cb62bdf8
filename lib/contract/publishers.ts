import * as z from "zod/mini";
import { declare } from "./declare.ts";
import { limit, offset, optionalText, order, pathInteger, queryId, search, slug, userLanguage } from "./parameters.ts";

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
  response: { list: "PublisherListItem", field: "publishers", count: true },
  errors: {},
  tags: ["publishers", "series"],
});

export const getPublisher = declare({
  summary: "Looks up a publisher by slug",
  method: "GET",
  path: "/publisher/slug/{slug}",
  parameters: { slug },
  response: { record: "Publisher" },
  errors: { 404: "Publisher not found" },
});

export const getRandomPublisher = declare({
  summary: "Gives the slug of a random publisher of a client",
  method: "GET",
  path: "/publisher/random",
  query: { client: queryId },
  response: { record: "Slug" },
  errors: { 404: "Publisher not found" },
  notCacheable: true,
});

export const listPublications = declare({
  summary: "Lists the series a publisher published",
  method: "GET",
  path: "/publisher/publications/{id}",
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
  errors: {},
  tags: ["publisher-{id}", "series"],
});
