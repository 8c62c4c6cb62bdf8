import * as z from "zod/mini";
import { declare } from "./declare.ts";
import {
  contributorOrders,
  filter,
  ids,
  include,
  instant,
  letter,
  order,
  page,
  queryId,
  search,
  slug,
  userLanguage,
} from "./parameters.ts";

/* Series (README.md, "Beyond the interface"): the pages to which works, publications and `random_series` lead. */

export const listSeries = declare("GET /series", {
  summary: "Lists the series of a client",
  query: {
    order: order(...contributorOrders, "added-asc", "added-desc"),
    search,
    ...page,
    client: queryId,
    type: filter,
    tag: filter,
    user_lang: userLanguage,
  },
  extensionQuery: {
    letter,
    ids,
    "changed-since": instant,
    include: include("added", "changed", "language_code"),
  },
  response: { list: "SeriesListItem", field: "series" },
  tags: ["series"],
});

export const getSeries = declare("GET /series/slug/{slug}", {
  summary: "Looks up a series by slug",
  parameters: { slug },
  query: { client: z.optional(queryId) },
  extensionQuery: { include: include("added", "changed", "language_code") },
  response: { record: "Series" },
  errors: { 404: "Series not found" },
});

export const getRandomSeries = declare("GET /series/random", {
  summary: "Gives the slug of a random series of a client",
  query: { client: queryId },
  response: { record: "Slug" },
  errors: { 404: "No series found" },
  notCacheable: true,
});

export const listSeriesLetters = declare("GET /series/letters", {
  summary: "Counts the series of a client by the letter under which they are sorted",
  query: { client: queryId },
  response: { record: "Letters" },
});
