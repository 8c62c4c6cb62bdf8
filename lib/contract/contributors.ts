import { declare } from "./declare.ts";
import {
  include,
  limit,
  offset,
  optionalText,
  order,
  pathInteger,
  queryId,
  search,
  slug,
  userLanguage,
} from "./parameters.ts";

/* Public contributors (README.md, "Public contributors (no authentication)"). */

export const listContributors = declare({
  summary: "Lists the published contributors of a client",
  method: "GET",
  path: "/contributors",
  query: {
    lang: optionalText,
    order: order("name-asc", "name-desc", "added-asc", "added-desc"),
    search,
    limit,
    offset,
    client: queryId,
  },
  extensionQuery: { include: include("slug") },
  response: { list: "ContributorListItem", field: "contributors" },
  errors: {},
  tags: ["contributors", "series"],
});

export const getContributor = declare({
  summary: "Looks up a published contributor by slug",
  method: "GET",
  path: "/contributor/slug/{slug}",
  parameters: { slug },
  response: { record: "Contributor" },
  followsSlugs: true,
  errors: { 404: "Contributor not found" },
});

export const getRandomContributor = declare({
  summary: "Gives the slug of a random published contributor of a client",
  method: "GET",
  path: "/contributor/random",
  query: { client: queryId },
  response: { record: "Slug" },
  errors: { 404: "No contributors found" },
  notCacheable: true,
});

export const listWorks = declare({
  summary: "Lists the works of a contributor",
  method: "GET",
  path: "/contributor/works/{id}",
  parameters: { id: pathInteger },
  query: {
    limit,
    offset,
    search,
    order: order("name-asc", "name-desc", "added-asc", "added-desc"),
    user_lang: userLanguage,
    client: queryId,
  },
  response: { list: "Work", field: "works" },
  errors: {},
  tags: ["contributor-{id}", "series"],
});
