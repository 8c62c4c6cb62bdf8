import * as z from "zod/mini";
import { declare } from "./declare.ts";
import {
  catalogueOrder,
  contributorOrders,
  ids,
  include,
  instant,
  lang,
  letter,
  order,
  page,
  pathInteger,
  queryId,
  search,
  slug,
  userLanguage,
} from "./parameters.ts";

/* Public contributors (README.md, "Public contributors (no authentication)"). */

export const listContributors = declare("GET /contributors", {
  summary: "Lists the published contributors of a client",
  query: { lang, order: order(...contributorOrders, "added-asc", "added-desc"), search, ...page, client: queryId },
  extensionQuery: {
    include: include("slug", "disambiguation", "sort_name", "added", "changed"),
    letter,
    ids,
    "changed-since": instant,
  },
  response: { list: "ContributorListItem", field: "contributors", random: "random_series" },
  tags: ["contributors", "series"],
});

export const getContributor = declare("GET /contributor/slug/{slug}", {
  summary: "Looks up a published contributor by slug",
  parameters: { slug },
  extensionQuery: {
    include: include(
      "type",
      "disambiguation",
      "sort_name",
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
  response: { record: "Contributor" },
  followsSlugs: true,
  errors: { 404: "Contributor not found" },
});

export const getRandomContributor = declare("GET /contributor/random", {
  summary: "Gives the slug of a random published contributor of a client",
  query: { client: queryId },
  response: { record: "Slug" },
  errors: { 404: "No contributors found" },
  notCacheable: true,
});

export const listWorks = declare("GET /contributor/works/{id}", {
  summary: "Lists the works of a contributor",
  parameters: { id: pathInteger },
  query: { ...page, search, order: z._default(catalogueOrder, "name-asc"), user_lang: userLanguage, client: queryId },
  extensionQuery: { include: include("language_code") },
  response: { list: "Work", field: "works" },
  tags: ["contributor-{id}", "series"],
});
