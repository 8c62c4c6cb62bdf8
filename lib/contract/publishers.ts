import * as z from "zod/mini";
import { declare } from "./declare.ts";
import {
  catalogueOrder,
  ids,
  include,
  instant,
  lang,
  letter,
  page,
  pathInteger,
  queryId,
  recordOrders,
  search,
  slug,
  userLanguage,
} from "./parameters.ts";

/* Public publishers (README.md, "Public publishers (no authentication)"). */

export const listPublishers = declare("GET /publishers", {
  summary: "Lists publishers",
  query: { lang, order: z.optional(z.enum([...catalogueOrder.options, ...recordOrders])), search, ...page },
  extensionQuery: {
    client: z.optional(queryId),
    include: include("added", "changed"),
    letter,
    ids,
    "changed-since": instant,
  },
  response: { list: "PublisherListItem", field: "publishers", count: true },
  tags: ["publishers", "series"],
});

export const getPublisher = declare("GET /publisher/slug/{slug}", {
  summary: "Looks up a publisher by slug",
  parameters: { slug },
  extensionQuery: {
    include: include(
      "short-name",
      "headquarter",
      "founding_date",
      "added",
      "changed",
      "images",
      "language_code",
      "works",
      "series_count",
    ),
    client: z.optional(queryId),
    user_lang: userLanguage,
  },
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
  query: { ...page, search, order: z._default(catalogueOrder, "name-asc"), client: queryId, user_lang: userLanguage },
  extensionQuery: { include: include("language_code") },
  response: { list: "Publication", field: "publications" },
  tags: ["publisher-{id}", "series"],
});
