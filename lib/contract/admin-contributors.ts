import * as z from "zod/mini";
import { declare } from "./declare.ts";
import { AddedDescription, AddedRelation, ChangedDescription, ChangedRelation } from "./elements.ts";
import { noFileService } from "./errors.ts";
import { link } from "./links.ts";
import {
  bodyId,
  contributorOrders,
  filter,
  flag,
  ids,
  image,
  include,
  letter,
  list,
  lock,
  mapped,
  name,
  nameOrNone,
  optionalName,
  order,
  page,
  pathInteger,
  queryId,
  search,
  yesOrNo,
} from "./parameters.ts";

/* Administrative contributors (README.md, "Administrative contributors"; element shapes: "Edits"). */

const missing = "Contributor not found";
const conflict = "Contributor with this Name exists already.";

const includable = ["type", "public", "client", "disambiguation", "sort_name"] as const;

export const listAdminContributors = declare("GET /admin-contributors", {
  summary: "Lists a client's contributors, unpublished ones included, with who is editing them",
  permission: "view-contributors",
  query: { order: order(...contributorOrders), ...page, search, client: queryId },
  extensionQuery: {
    include: include(...includable, "version", "added", "changed"),
    letter,
    ids,
    public: yesOrNo,
    type: filter,
    website: yesOrNo,
  },
  response: { list: "AdminContributorListItem", field: "contributors" },
});

export const getAdminContributor = declare("GET /admin-contributors/id/{id}", {
  summary: "Shows a contributor; opens an edit lock for callers who may edit",
  permission: "view-contributors",
  parameters: { id: pathInteger },
  extensionQuery: { include: include(...includable, "language_code"), lock },
  response: { record: "AdminContributor" },
  errors: { 404: missing },
  takesEditLock: true,
});

export const addContributor = declare("POST /admin-contributors/add", {
  summary: "Adds a contributor, not yet published; shared by all clients unless one is named",
  permission: "add-contributors",
  query: { client: z.optional(queryId) },
  body: { first_name: name, last_name: optionalName, disambiguation: nameOrNone, sort_name: optionalName },
  creates: "/admin-contributors/id/{id}",
  response: { message: "Contributor added" },
  errors: { 409: conflict, 500: "An error occurred while adding the contributor" },
  changesPublic: true,
});

/** An alias, as `{name}` or as a string. */
const alias = z.union([name, mapped(z.object({ name }), (element) => element.name)]);

/** A link as a string, or as the object that the detail shows. */
const linkOrObject = z.union([link, mapped(z.object({ url: link }), ({ url }) => url)]);

/** What is removed: an id, or an object with an id. */
const elementId = z.union([bodyId, mapped(z.object({ id: bodyId }), ({ id }) => id)]);

const linksMax = 50;
const removed = list(elementId);

export const editContributor = declare("POST /admin-contributors/edit/{id}", {
  summary: "Changes a contributor, all fields at once; a merge patch only those that it names",
  permission: "edit-contributors",
  parameters: { id: pathInteger },
  body: {
    first_name: name,
    last_name: optionalName,
    gender: optionalName,
    type: optionalName,
    disambiguation: nameOrNone,
    sort_name: optionalName,
    links: list(linkOrObject, linksMax),
    public: flag,
    added_aliases: list(alias),
    removed_aliases: removed,
    added_descriptions: list(AddedDescription),
    removed_descriptions: removed,
    modified_descriptions: list(ChangedDescription),
    added_relations: list(AddedRelation),
    removed_relations: removed,
    modified_relations: list(ChangedRelation),
  },
  mergePatch: true,
  response: { message: "Contributor updated" },
  errors: { 404: missing, 409: conflict, 500: "An error occurred while updating the contributor" },
  changesPublic: true,
});

export const deleteContributor = declare("DELETE /admin-contributors/delete/{id}", {
  summary: "Deletes a contributor and all that belongs to it",
  permission: "delete-contributors",
  parameters: { id: pathInteger },
  response: { message: "Contributor deleted" },
  errors: { 404: missing, 500: "An error occurred while deleting the contributor" },
  deletesImage: true,
  changesPublic: true,
});

export const updateAvatar = declare("POST /admin-contributors/update-avatar/{id}", {
  summary: "Sets a contributor's avatar",
  permission: "edit-contributors",
  parameters: { id: pathInteger },
  body: { image },
  response: { message: "Contributor avatar updated" },
  errors: { 404: missing, 500: "An error occurred while updating the contributor avatar", 503: noFileService },
  needsFileService: true,
  changesPublic: true,
});

export const deleteAvatar = declare("DELETE /admin-contributors/delete-avatar/{id}", {
  summary: "Removes a contributor's avatar",
  permission: "edit-contributors",
  parameters: { id: pathInteger },
  response: { message: "Contributor avatar deleted" },
  errors: { 404: missing, 500: "An error occurred while deleting the contributor avatar", 503: noFileService },
  needsFileService: true,
  changesPublic: true,
});
