// Printed from the declarations in lib/contract by `npm run openapi`.
import type { BodyOrPatch, ById, Done, Endpoint, Failure, Invalid, Locked, Selection, With } from "./index.js";

/** Every GET, by its path. */
export interface Reads<Include = undefined> {
  "/admin-contributors": Endpoint<
    "Lists a client's contributors, unpublished ones included, with who is editing them. Needs `view-contributors`.",
    { query: ListAdminContributorsQuery },
    AdminContributorList<Include>,
    AdminErrors<keyof ListAdminContributorsQuery>
  >;
  "/admin-contributors/id/{id}": Endpoint<
    "Shows a contributor; opens an edit lock for callers who may edit. Needs `view-contributors`.",
    ById & { query?: GetAdminContributorQuery },
    With<AdminContributor, Include>,
    AdminErrors<keyof GetAdminContributorQuery> | Failure<404, "Contributor not found">,
    Locked
  >;
  "/admin-permissions": Endpoint<
    "Lists permissions. Needs `view-permissions`.",
    { query?: ListPermissionsQuery },
    PermissionList<Include>,
    AdminErrors<keyof ListPermissionsQuery>
  >;
  "/admin-permissions/id/{id}": Endpoint<
    "Shows a permission. Needs `view-permissions`.",
    ById,
    Permission,
    AdminErrors | Failure<404, "Permission not found">,
    { version: string }
  >;
  "/admin-roles": Endpoint<
    "Lists roles with the number of their permissions and users. Needs `view-roles`.",
    { query?: ListRolesQuery },
    RoleList<Include>,
    AdminErrors<keyof ListRolesQuery>
  >;
  "/admin-roles/id/{id}": Endpoint<
    "Shows a role with its permissions. Needs `view-roles`.",
    ById,
    Role,
    AdminErrors | Failure<404, "Role not found">,
    { version: string }
  >;
  "/admin-users": Endpoint<
    "Lists users with their roles and who is editing them. Needs `view-users`.",
    { query?: ListUsersQuery },
    UserList<Include>,
    AdminErrors<keyof ListUsersQuery>
  >;
  "/admin-users/id/{id}": Endpoint<
    "Shows a user; opens an edit lock for callers who may edit. Needs `view-users`.",
    ById & { query?: GetUserQuery },
    User,
    AdminErrors<keyof GetUserQuery> | Failure<404, "User not found">,
    Locked
  >;
  "/contributor/random": Endpoint<
    "Gives the slug of a random published contributor of a client. Needs no permission.",
    { query: GetRandomContributorQuery },
    Slug,
    PublicErrors<keyof GetRandomContributorQuery> | Failure<404, "No contributors found">
  >;
  "/contributor/slug/{slug}": Endpoint<
    "Looks up a published contributor by slug. Needs no permission.",
    { path: { slug: string }; query?: GetContributorQuery },
    With<Contributor, Include>,
    PublicErrors<keyof GetContributorQuery> | Failure<404, "Contributor not found">
  >;
  "/contributor/works/{id}": Endpoint<
    "Lists the works of a contributor. Needs no permission.",
    ById & { query: ListWorksQuery },
    WorkList<Include>,
    PublicErrors<keyof ListWorksQuery>
  >;
  "/contributors": Endpoint<
    "Lists the published contributors of a client. Needs no permission.",
    { query: ListContributorsQuery },
    ContributorList<Include>,
    PublicErrors<keyof ListContributorsQuery>
  >;
  "/contributors/letters": Endpoint<
    "Counts the published contributors of a client by the letter under which they are sorted. Needs no permission.",
    { query: ListContributorLettersQuery },
    Letters,
    PublicErrors<keyof ListContributorLettersQuery>
  >;
  "/publisher/publications/{id}": Endpoint<
    "Lists the series a publisher published. Needs no permission.",
    ById & { query: ListPublicationsQuery },
    PublicationList<Include>,
    PublicErrors<keyof ListPublicationsQuery>
  >;
  "/publisher/random": Endpoint<
    "Gives the slug of a random publisher of a client. Needs no permission.",
    { query: GetRandomPublisherQuery },
    Slug,
    PublicErrors<keyof GetRandomPublisherQuery> | Failure<404, "Publisher not found">
  >;
  "/publisher/slug/{slug}": Endpoint<
    "Looks up a publisher by slug. Needs no permission.",
    { path: { slug: string }; query?: GetPublisherQuery },
    With<Publisher, Include>,
    PublicErrors<keyof GetPublisherQuery> | Failure<404, "Publisher not found">
  >;
  "/publishers": Endpoint<
    "Lists publishers. Needs no permission.",
    { query?: ListPublishersQuery },
    PublisherList<Include>,
    PublicErrors<keyof ListPublishersQuery>
  >;
  "/publishers/letters": Endpoint<
    "Counts the publishers by the first letter of their name. Needs no permission.",
    object,
    Letters,
    PublicErrors
  >;
  "/series": Endpoint<
    "Lists the series of a client. Needs no permission.",
    { query: ListSeriesQuery },
    SeriesList<Include>,
    PublicErrors<keyof ListSeriesQuery>
  >;
  "/series/letters": Endpoint<
    "Counts the series of a client by the letter under which they are sorted. Needs no permission.",
    { query: ListSeriesLettersQuery },
    Letters,
    PublicErrors<keyof ListSeriesLettersQuery>
  >;
  "/series/random": Endpoint<
    "Gives the slug of a random series of a client. Needs no permission.",
    { query: GetRandomSeriesQuery },
    Slug,
    PublicErrors<keyof GetRandomSeriesQuery> | Failure<404, "No series found">
  >;
  "/series/slug/{slug}": Endpoint<
    "Looks up a series by slug. Needs no permission.",
    { path: { slug: string }; query?: GetSeriesQuery },
    With<Series, Include>,
    PublicErrors<keyof GetSeriesQuery> | Failure<404, "Series not found">
  >;
  "/session": Endpoint<
    "Shows who is signed in, what they may do, and until when. Needs a session.",
    object,
    Session,
    PublicErrors | Failure<401, "Unauthorized">
  >;
}

/** Every POST, by its path. */
export interface Posts {
  "/admin-contributors/add": Endpoint<
    "Adds a contributor, not yet published; shared by all clients unless one is named. Needs `add-contributors`.",
    { query?: AddContributorQuery; body: AddContributor },
    Done<"Contributor added">,
    | ChangeErrors<keyof AddContributorQuery | keyof AddContributor>
    | Failure<409, "Contributor with this Name exists already.">
    | Failure<500, "An error occurred while adding the contributor">,
    { created: number }
  >;
  "/admin-contributors/edit/{id}": Endpoint<
    "Changes a contributor, all fields at once; a merge patch only those that it names. Needs `edit-contributors`.",
    ById & BodyOrPatch<EditContributor>,
    Done<"Contributor updated">,
    | VersionedErrors<keyof EditContributor>
    | Failure<404, "Contributor not found">
    | Failure<409, "Contributor with this Name exists already.">
    | Failure<500, "An error occurred while updating the contributor">
  >;
  "/admin-contributors/update-avatar/{id}": Endpoint<
    "Sets a contributor's avatar. Needs `edit-contributors`.",
    ById & { body: UpdateAvatar },
    Done<"Contributor avatar updated">,
    | VersionedErrors<keyof UpdateAvatar>
    | Failure<404, "Contributor not found">
    | Failure<500, "An error occurred while updating the contributor avatar">
    | Failure<503, "This service is not handling file uploads.">
  >;
  "/admin-permissions/add": Endpoint<
    "Adds a permission for other services to use; it opens nothing here. Needs `add-permissions`.",
    { body: AddPermission },
    Done<"Permission added">,
    ChangeErrors<keyof AddPermission> | Failure<409, "Permission with the same name already exists">,
    { created: number }
  >;
  "/admin-permissions/edit/{id}": Endpoint<
    "Renames and describes a permission; what it opens stays the same. Needs `edit-permissions`.",
    ById & { body: EditPermission },
    Done<"Permission updated">,
    | VersionedErrors<keyof EditPermission>
    | Failure<403, "Forbidden: you cannot grant what you lack">
    | Failure<404, "Permission not found">
    | Failure<409, "Permission with the same name already exists">
  >;
  "/admin-roles/add": Endpoint<
    "Adds a role without permissions. Needs `add-roles`.",
    { body: AddRole },
    Done<"Role added">,
    ChangeErrors<keyof AddRole> | Failure<409, "Role with the same name already exists">,
    { created: number }
  >;
  "/admin-roles/edit/{id}": Endpoint<
    "Changes a role's name, description and permissions. Needs `edit-roles`.",
    ById & { body: EditRole },
    Done<"Role updated">,
    | VersionedErrors<keyof EditRole>
    | Failure<403, "Forbidden: you cannot grant what you lack">
    | Failure<403, "Forbidden: you cannot act on a user who outranks you">
    | Failure<403, "Forbidden: the Administrator role belongs to its users">
    | Failure<404, "Role not found">
    | Failure<409, "Role with the same name already exists">
  >;
  "/admin-users/edit/{id}": Endpoint<
    "Changes a user's name, age verification and roles; a merge patch only those that it names. Needs `edit-users`.",
    ById & BodyOrPatch<EditUser>,
    Done<"User updated">,
    | VersionedErrors<keyof EditUser>
    | Failure<403, "Forbidden: you cannot grant what you lack">
    | Failure<403, "Forbidden: you cannot act on a user who outranks you">
    | Failure<403, "Forbidden: the Administrator role belongs to its users">
    | Failure<404, "User not found">
    | Failure<409, "Username already taken">
  >;
  "/admin-users/logout/{id}": Endpoint<
    "Logs a user out by revoking their refresh tokens. Needs `edit-users`.",
    ById,
    Done<"User logged out">,
    | VersionedErrors
    | Failure<403, "Forbidden: you cannot act on a user who outranks you">
    | Failure<404, "User not found">
  >;
  "/admin-users/update-image/{id}": Endpoint<
    "Sets a user's profile image. Needs `edit-users`.",
    ById & { body: UpdateUserImage },
    Done<"Profile image updated">,
    | VersionedErrors<keyof UpdateUserImage>
    | Failure<403, "Forbidden: you cannot act on a user who outranks you">
    | Failure<404, "User not found">
    | Failure<503, "This service is not handling file uploads.">
  >;
  "/sign-out": Endpoint<
    "Ends the session, and forgets the cookie. Needs no permission.",
    object,
    Done<"Signed out">,
    PublicErrors | Failure<403, "Forbidden"> | Failure<503, "This service is not handling sign-in.">
  >;
}

/** Every DELETE, by its path. */
export interface Deletes {
  "/admin-contributors/delete-avatar/{id}": Endpoint<
    "Removes a contributor's avatar. Needs `edit-contributors`.",
    ById,
    Done<"Contributor avatar deleted">,
    | VersionedErrors
    | Failure<404, "Contributor not found">
    | Failure<500, "An error occurred while deleting the contributor avatar">
    | Failure<503, "This service is not handling file uploads.">
  >;
  "/admin-contributors/delete/{id}": Endpoint<
    "Deletes a contributor and all that belongs to it. Needs `delete-contributors`.",
    ById,
    Done<"Contributor deleted">,
    | VersionedErrors
    | Failure<404, "Contributor not found">
    | Failure<500, "An error occurred while deleting the contributor">
  >;
  "/admin-contributors/lock/{id}": Endpoint<
    "Gives the caller's edit lock on a contributor back. Needs `view-contributors`.",
    ById,
    Done<"Lock released">,
    VersionedErrors | Failure<404, "Contributor not found">
  >;
  "/admin-permissions/delete/{id}": Endpoint<
    "Takes a permission from every role and deletes it. Needs `delete-permissions`.",
    ById,
    Done<"Permission deleted">,
    | VersionedErrors
    | Failure<403, "Forbidden: you cannot grant what you lack">
    | Failure<403, "Forbidden: the Administrator role belongs to its users">
    | Failure<404, "Permission not found">
  >;
  "/admin-roles/delete/{id}": Endpoint<
    "Deletes a role; users who held only this one get the default role. Needs `delete-roles`.",
    ById,
    Done<"Role deleted">,
    | VersionedErrors
    | Failure<403, "Forbidden: you cannot grant what you lack">
    | Failure<403, "Forbidden: you cannot act on a user who outranks you">
    | Failure<403, "Forbidden: the Administrator role belongs to its users">
    | Failure<404, "Role not found">
    | Failure<405, "Cannot delete default role">
  >;
  "/admin-users/delete-image/{id}": Endpoint<
    "Removes a user's profile image. Needs `edit-users`.",
    ById,
    Done<"Profile image deleted">,
    | VersionedErrors
    | Failure<403, "Forbidden: you cannot act on a user who outranks you">
    | Failure<404, "User not found">
    | Failure<503, "This service is not handling file uploads.">
  >;
  "/admin-users/delete/{id}": Endpoint<
    "Deletes a user and all that belongs to them. Needs `delete-users`.",
    ById,
    Done<"User deleted">,
    | VersionedErrors
    | Failure<403, "Forbidden: you cannot act on a user who outranks you">
    | Failure<403, "Forbidden: the Administrator role belongs to its users">
    | Failure<404, "User not found">
  >;
  "/admin-users/lock/{id}": Endpoint<
    "Gives the caller's edit lock on a user back. Needs `view-users`.",
    ById,
    Done<"Lock released">,
    VersionedErrors | Failure<404, "User not found">
  >;
}

export interface ListAdminContributorsQuery extends PageQuery {
  /** The website whose catalogue is read. */
  client: number;
  /** The order of the records. By default `name-asc`. */
  order?:
    | "name-asc"
    | "name-desc"
    | "sort-name-asc"
    | "sort-name-desc"
    | "id-asc"
    | "id-desc"
    | "changed-asc"
    | "changed-desc";
  /** Further fields to show, separated by commas. */
  include?: Selection<"type" | "public" | "client" | "disambiguation" | "sort_name" | "version" | "added" | "changed">;
  /**
   * Only records that are sorted under this letter of any script, regardless of case and accents; `#` for those that
   * begin with none.
   */
  letter?: string;
  /** Only records with one of these ids, separated by commas; at most 200. */
  ids?: string;
  /** Whether public endpoints show the contributor. */
  public?: "true" | "false";
  /** Only records of exactly this type. */
  type?: string;
  /** Only contributors with a link, or without one. */
  website?: "true" | "false";
}

export interface AddContributorQuery {
  /** The website whose catalogue is read. */
  client?: number;
}

export interface GetAdminContributorQuery {
  /** Further fields to show, separated by commas. */
  include?: Selection<"type" | "public" | "client" | "disambiguation" | "sort_name" | "language_code">;
  /** `none` returns the record, and neither takes nor renews the edit lock. */
  lock?: "none";
}

export interface ListPermissionsQuery extends PageQuery {
  /** Further fields to show, separated by commas. */
  include?: Selection<"version" | "changed">;
  /** The order of the records. By default `id-asc`. */
  order?: "id-asc" | "id-desc" | "changed-asc" | "changed-desc";
  /** Only records with one of these ids, separated by commas; at most 200. */
  ids?: string;
}

export interface ListRolesQuery extends PageQuery {
  /** Further fields to show, separated by commas. */
  include?: Selection<"version" | "changed">;
  /** The order of the records. By default `id-asc`. */
  order?: "id-asc" | "id-desc" | "changed-asc" | "changed-desc";
  /** Only records with one of these ids, separated by commas; at most 200. */
  ids?: string;
  /** Only roles that give the permission of this id. */
  permission?: number;
}

export interface ListUsersQuery extends PageQuery {
  /** The order of the records. By default `name-asc`. */
  order?:
    | "name-asc"
    | "name-desc"
    | "registered-asc"
    | "registered-desc"
    | "id-asc"
    | "id-desc"
    | "changed-asc"
    | "changed-desc";
  /** Only users with the role of this id. */
  role?: number;
  /** Further fields to show, separated by commas. */
  include?: Selection<"version" | "changed">;
  /** Only records with one of these ids, separated by commas; at most 200. */
  ids?: string;
}

export interface GetUserQuery {
  /** `none` returns the record, and neither takes nor renews the edit lock. */
  lock?: "none";
}

export interface GetRandomContributorQuery {
  /** The website whose catalogue is read. */
  client: number;
}

export interface GetContributorQuery {
  /** Further fields to show, separated by commas. */
  include?: Selection<
    | "type"
    | "disambiguation"
    | "sort_name"
    | "added"
    | "changed"
    | "images"
    | "language_code"
    | "works"
    | "series_count"
  >;
  /** The website whose catalogue is read. */
  client?: number;
  /**
   * The language of `alias` and `description`: a tag of BCP 47, a code of ISO 639, or its name in English or in
   * itself. By default `English`.
   */
  user_lang?: string;
}

export interface ListWorksQuery extends PageQuery {
  /** The website whose catalogue is read. */
  client: number;
  /** The order of the records. By default `name-asc`. */
  order?: "name-asc" | "name-desc" | "added-asc" | "added-desc";
  /**
   * The language of `alias` and `description`: a tag of BCP 47, a code of ISO 639, or its name in English or in
   * itself. By default `English`.
   */
  user_lang?: string;
  /** Further fields to show, separated by commas. */
  include?: Selection<"language_code">;
}

export interface ListContributorsQuery extends PageQuery {
  /** The website whose catalogue is read. */
  client: number;
  /** The order of the records. By default `name-asc`. */
  order?:
    | "name-asc"
    | "name-desc"
    | "sort-name-asc"
    | "sort-name-desc"
    | "id-asc"
    | "id-desc"
    | "changed-asc"
    | "changed-desc"
    | "added-asc"
    | "added-desc";
  /** Further fields to show, separated by commas. */
  include?: Selection<"slug" | "disambiguation" | "sort_name" | "added" | "changed">;
  /**
   * Only records that are sorted under this letter of any script, regardless of case and accents; `#` for those that
   * begin with none.
   */
  letter?: string;
  /** Only records with one of these ids, separated by commas; at most 200. */
  ids?: string;
  /** Only records that have been changed since then. */
  "changed-since"?: string;
  /** Reserved; not used yet. */
  lang?: string;
}

export interface ListContributorLettersQuery {
  /** The website whose catalogue is read. */
  client: number;
}

export interface ListPublicationsQuery extends PageQuery {
  /** The website whose catalogue is read. */
  client: number;
  /** The order of the records. By default `name-asc`. */
  order?: "name-asc" | "name-desc" | "added-asc" | "added-desc";
  /**
   * The language of `alias` and `description`: a tag of BCP 47, a code of ISO 639, or its name in English or in
   * itself. By default `English`.
   */
  user_lang?: string;
  /** Further fields to show, separated by commas. */
  include?: Selection<"language_code">;
}

export interface GetRandomPublisherQuery {
  /** The website whose catalogue is read. */
  client: number;
}

export interface GetPublisherQuery {
  /** Further fields to show, separated by commas. */
  include?: Selection<
    | "short-name"
    | "headquarter"
    | "founding_date"
    | "added"
    | "changed"
    | "images"
    | "language_code"
    | "works"
    | "series_count"
  >;
  /** The website whose catalogue is read. */
  client?: number;
  /**
   * The language of `alias` and `description`: a tag of BCP 47, a code of ISO 639, or its name in English or in
   * itself. By default `English`.
   */
  user_lang?: string;
}

export interface ListPublishersQuery extends PageQuery {
  /** The order of the records. */
  order?: "name-asc" | "name-desc" | "added-asc" | "added-desc" | "id-asc" | "id-desc" | "changed-asc" | "changed-desc";
  /** The website whose catalogue is read. */
  client?: number;
  /** Further fields to show, separated by commas. */
  include?: Selection<"added" | "changed">;
  /**
   * Only records that are sorted under this letter of any script, regardless of case and accents; `#` for those that
   * begin with none.
   */
  letter?: string;
  /** Only records with one of these ids, separated by commas; at most 200. */
  ids?: string;
  /** Only records that have been changed since then. */
  "changed-since"?: string;
  /** Reserved; not used yet. */
  lang?: string;
}

export interface ListSeriesQuery extends PageQuery {
  /** The website whose catalogue is read. */
  client: number;
  /** The order of the records. By default `name-asc`. */
  order?:
    | "name-asc"
    | "name-desc"
    | "sort-name-asc"
    | "sort-name-desc"
    | "id-asc"
    | "id-desc"
    | "changed-asc"
    | "changed-desc"
    | "added-asc"
    | "added-desc";
  /** Only records of exactly this type. */
  type?: string;
  /** Only series with the tag of this name, regardless of case. */
  tag?: string;
  /**
   * The language of `alias` and `description`: a tag of BCP 47, a code of ISO 639, or its name in English or in
   * itself. By default `English`.
   */
  user_lang?: string;
  /**
   * Only records that are sorted under this letter of any script, regardless of case and accents; `#` for those that
   * begin with none.
   */
  letter?: string;
  /** Only records with one of these ids, separated by commas; at most 200. */
  ids?: string;
  /** Only records that have been changed since then. */
  "changed-since"?: string;
  /** Further fields to show, separated by commas. */
  include?: Selection<"added" | "changed" | "language_code">;
}

export interface ListSeriesLettersQuery {
  /** The website whose catalogue is read. */
  client: number;
}

export interface GetRandomSeriesQuery {
  /** The website whose catalogue is read. */
  client: number;
}

export interface GetSeriesQuery {
  /** The website whose catalogue is read. */
  client?: number;
  /** Further fields to show, separated by commas. */
  include?: Selection<"added" | "changed" | "language_code">;
}

/** Which records of a list are to be read. */
export interface PageQuery {
  /** The maximum number of records; by default all. */
  limit?: number;
  /** The number of records to skip. */
  offset?: number;
  /**
   * Words that all occur in the name or an alias (of users: in the name), in any order, as parts of words too,
   * regardless of case and accents; `%` and `_` stand for themselves.
   */
  search?: string;
}

/** Which records of a list these are. */
export interface Page {
  /** All records that match, whatever the page. */
  max: number;
  /** Index of the first record returned. */
  from: number;
  /** Index after the last record returned; the offset of the next page. */
  to: number;
}

export interface AddContributor {
  first_name: string;
  /** By default `null`. */
  last_name?: string | null;
  /** Tells contributors of one name apart, such as `poet, 1950`; part of the unique name. */
  disambiguation?: string | null;
  /**
   * By what the contributor is sorted, such as `Tezuka, Osamu`; by default the last name, a comma and the first
   * name. By default `null`.
   */
  sort_name?: string | null;
}

export interface AddPermission {
  name: string;
  description: string;
}

export interface AddRole {
  name: string;
  description: string;
}

export interface AddedDescription {
  description: string;
  language: string;
  source?: string;
}

export interface AddedRelation {
  relation_id: number;
  relation_type: string;
}

export interface AdminContributor {
  id: number;
  first_name: string;
  /** Empty if there is none. */
  last_name: string;
  /** Its name in addresses. */
  slug: string;
  /** Its address, or empty. */
  image: string;
  /** Empty if not known. */
  gender: string;
  /** Pages about them, as they were sent, but for what RFC 3986 (6.2.2 and 6.2.3) calls equal. */
  links: Link[];
  aliases: ContributorAlias[];
  descriptions: Description[];
  relations: ContributorRelation[];
  /** Only with `include=type`; empty if not known. */
  type?: string;
  /** Only with `include=public`: whether public endpoints show them. */
  public?: boolean;
  /** Only with `include=client`: the website that has them alone; null if all do. */
  client?: number | null;
  /** Only with `include=disambiguation`: tells contributors of one name apart; empty if there is none. */
  disambiguation?: string;
  /** Only with `include=sort_name`: by what they are sorted; given, or else last name, comma, first name. */
  sort_name?: string;
}

export interface AdminContributorList<Include = undefined> extends Page {
  contributors: With<AdminContributorListItem, Include>[];
}

export interface AdminContributorListItem {
  id: number;
  first_name: string;
  /** Empty if there is none. */
  last_name: string;
  /** Its name in addresses. */
  slug: string;
  /** Its address, or empty. */
  image: string;
  /** Only with `include=type`; empty if not known. */
  type?: string;
  /** Only with `include=public`: whether public endpoints show them. */
  public?: boolean;
  /** Only with `include=client`: the website that has them alone; null if all do. */
  client?: number | null;
  /** Only with `include=disambiguation`: tells contributors of one name apart; empty if there is none. */
  disambiguation?: string;
  /** Only with `include=sort_name`: by what they are sorted; given, or else last name, comma, first name. */
  sort_name?: string;
  /** Only with `include=version`: for `If-Match` of a change. */
  version?: number;
  /** Only with `include=changed`: when it, or what belongs to it alone, was last changed. */
  changed?: string;
  /** Only with `include=added`: when it was added. */
  added?: string;
  /** Who else is editing them. */
  locked_by?: UserReference;
}

export interface ChangedDescription {
  id: number;
  description?: string;
  language?: string;
  source?: string;
}

export interface ChangedRelation {
  id: number;
  relation_id?: number;
  relation_type?: string;
}

export interface Contributor {
  id: number;
  first_name: string;
  /** Empty if there is none. */
  last_name: string;
  /** Its name in addresses. */
  slug: string;
  /** Only with `include=type`; empty if not known. */
  type?: string;
  /** Only with `include=disambiguation`: tells contributors of one name apart; empty if there is none. */
  disambiguation?: string;
  /** Only with `include=sort_name`: by what they are sorted; given, or else last name, comma, first name. */
  sort_name?: string;
  /** Only with `include=added`: when it was added. */
  added?: string;
  /** Only with `include=changed`: when it, or what belongs to it alone, was last changed. */
  changed?: string;
  /** Its address, or null. */
  image: string | null;
  /** Only with `include=images`: the image in its sizes, the smallest first; empty if not known. */
  images?: Image[];
  /** Null if not known. */
  gender: string | null;
  /** Pages about them, as they were sent, but for what RFC 3986 (6.2.2 and 6.2.3) calls equal. */
  links: Link[];
  descriptions: Description[];
  aliases: ContributorAlias[];
  relations: ContributorRelation[];
  /** Only with `include=works`: the first 999 of /contributor/works/{id} by name, or as many as 720 kB have room for. */
  works?: Work[];
  /** Only with `include=series_count`: how many there are, in the client's scope if there is a `client`. */
  series_count?: number;
}

export interface ContributorAlias {
  id: number;
  name: string;
}

export interface ContributorList<Include = undefined> extends Page {
  contributors: With<ContributorListItem, Include>[];
}

export interface ContributorListItem {
  id: number;
  first_name: string;
  /** Empty if there is none. */
  last_name: string;
  /** Only with `include=slug`. */
  slug?: string;
  /** Only with `include=disambiguation`: tells contributors of one name apart; empty if there is none. */
  disambiguation?: string;
  /** Only with `include=sort_name`: by what they are sorted; given, or else last name, comma, first name. */
  sort_name?: string;
  /** Only with `include=added`: when it was added. */
  added?: string;
  /** Only with `include=changed`: when it, or what belongs to it alone, was last changed. */
  changed?: string;
  /** Its address, or null. */
  image: string | null;
  /** Null if not known. */
  gender: string | null;
  series_count: number;
  /** One of the series, chosen at random. */
  random_series?: SeriesReference;
}

export interface ContributorRelation {
  id: number;
  /** The other contributor's id. */
  relation_id: number;
  relation_type: string;
  name: string;
  first_name: string;
  last_name: string;
  slug: string;
}

export interface Description {
  id: number;
  description: string;
  /** Its English name. */
  language: string;
  /** Empty if there is none. */
  source: string;
  /** Only with `include=language_code`: the BCP 47 tag of its language; empty if not known. */
  language_code?: string;
}

export interface EditContributor {
  first_name: string;
  /** By default `null`. */
  last_name?: string | null;
  /** Any text, such as `female`. By default `null`. */
  gender?: string | null;
  /** Any text, such as `author and artist`. By default `null`. */
  type?: string | null;
  /** Tells contributors of one name apart, such as `poet, 1950`; part of the unique name. */
  disambiguation?: string | null;
  /**
   * By what the contributor is sorted, such as `Tezuka, Osamu`; by default the last name, a comma and the first
   * name. By default `null`.
   */
  sort_name?: string | null;
  /**
   * Addresses of web pages, http or https; an address with neither gets `https://`. Objects as in a detail are
   * accepted, too.
   */
  links?: string[] | null;
  /** Whether public endpoints show the contributor. By default `false`. */
  public?: boolean | null;
  /** Names; objects with a `name` are accepted, too. */
  added_aliases?: string[] | null;
  /** Ids of aliases; objects with an `id` are accepted, too. */
  removed_aliases?: number[] | null;
  /**
   * Each language by a tag of BCP 47, a code of ISO 639, or its name in English or in itself; any other text is kept
   * as it is.
   */
  added_descriptions?: AddedDescription[] | null;
  /** Ids of descriptions; objects with an `id` are accepted, too. */
  removed_descriptions?: number[] | null;
  /** Ids of descriptions, with the fields that change. */
  modified_descriptions?: ChangedDescription[] | null;
  /** Ids of other contributors, each with the kind of relation: any text, such as `sibling`. */
  added_relations?: AddedRelation[] | null;
  /** Ids of relations; objects with an `id` are accepted, too. */
  removed_relations?: number[] | null;
  /** Ids of relations, with the fields that change. */
  modified_relations?: ChangedRelation[] | null;
}

export interface EditPermission {
  name: string;
  description: string;
}

export interface EditRole {
  name: string;
  description?: string | null;
  /** Ids of permissions. */
  added_permissions?: number[] | null;
  /** Ids of permissions; a permission that is both added and removed ends up removed. */
  removed_permissions?: number[] | null;
}

export interface EditUser {
  username: string;
  /** By default `false`. */
  age_verified?: boolean | null;
  /** Ids of roles. */
  added_roles?: number[] | null;
  /** Ids of roles. */
  removed_roles?: number[] | null;
}

export interface Envelope {
  /** What has happened, or why nothing has. */
  data: string;
  /** The status of the response. */
  code: number;
}

export interface Image {
  url: string;
  /** In pixels. */
  width: number;
  /** In pixels. */
  height: number;
}

export interface Letter {
  /** A letter of any script, or `#` for all that begins with none: the value for `letter`. */
  letter: string;
  /** How many records a list with this `letter` has. */
  count: number;
}

export type Letters = Letter[];

export interface Link {
  url: string;
  domain: string;
}

export interface Permission {
  id: number;
  name: string;
  description: string;
}

export type PermissionList<Include = undefined> = With<PermissionListItem, Include>[];

export interface PermissionListItem {
  id: number;
  name: string;
  description: string;
  /** Only with `include=version`: for `If-Match` of a change. */
  version?: number;
  /** Only with `include=changed`: when it, or what belongs to it alone, was last changed. */
  changed?: string;
}

export interface Publication {
  id: number;
  name: string;
  /** Its name in addresses. */
  slug: string;
  type: string;
  origin: string;
  /** Its name in the requested language; else in English, else the name. */
  alias: string;
  /** Likewise; else any, or empty. */
  description: string;
  tags: Tag[];
  /** Only with `include=language_code`: the BCP 47 tag of the alias's language; empty if not known. */
  language_code?: string;
  /** Only with `include=language_code`: the BCP 47 tag of the description's language; empty if not known. */
  description_language_code?: string;
  /** The one that stands for the work: the first with a cover. */
  volume?: Volume;
  aliases: SeriesAlias[];
}

export interface PublicationList<Include = undefined> extends Page {
  publications: With<Publication, Include>[];
}

export interface Publisher {
  id: number;
  name: string;
  /** Its name in addresses. */
  slug: string;
  /** Its address, or empty. */
  image: string;
  /** Only with `include=images`: the image in its sizes, the smallest first; empty if not known. */
  images?: Image[];
  /** Its address, or empty. */
  website: string;
  /** The website's host, or empty. */
  domain: string;
  /** Empty if not known. */
  country: string;
  /** Only with `include=short-name`; empty if there is none. */
  "short-name"?: string;
  /** Only with `include=headquarter`; empty if not known. */
  headquarter?: string;
  /** Only with `include=founding_date`: YYYY, YYYY-MM or YYYY-MM-DD; or empty. */
  founding_date?: string;
  /** Only with `include=added`: when it was added. */
  added?: string;
  /** Only with `include=changed`: when it, or what belongs to it alone, was last changed. */
  changed?: string;
  descriptions: Description[];
  aliases: PublisherAlias[];
  relations: PublisherRelation[];
  /**
   * Only with `include=works`: the first 999 of /publisher/publications/{id} by name, or as many as 720 kB have room
   * for.
   */
  works?: Publication[];
  /** Only with `include=series_count`: how many there are, in the client's scope if there is a `client`. */
  series_count?: number;
}

export interface PublisherAlias {
  id: number;
  title: string;
  language: string;
  /** Only with `include=language_code`: the BCP 47 tag of its language; empty if not known. */
  language_code?: string;
}

export interface PublisherList<Include = undefined> extends Page {
  publishers: With<PublisherListItem, Include>[];
  /** The records returned. */
  count: number;
}

export interface PublisherListItem {
  id: number;
  name: string;
  "short-name": string;
  slug: string;
  /** Empty if not known. */
  country: string;
  /** Its address, or empty. */
  website: string;
  /** Empty if not known. */
  headquarter: string;
  series_count: number;
  /** What is known of it: YYYY, YYYY-MM or YYYY-MM-DD; or empty. */
  founding_date: string;
  /** Its address, or empty. */
  image: string;
  image_source: string;
  /** Only with `include=added`: when it was added. */
  added?: string;
  /** Only with `include=changed`: when it, or what belongs to it alone, was last changed. */
  changed?: string;
}

export interface PublisherRelation {
  id: number;
  /** The other publisher's id. */
  relation_id: number;
  type: string;
  name: string;
  image: string;
  slug: string;
}

export interface Role {
  id: number;
  name: string;
  description: string;
  /** 1 for the role that users get who would have none. */
  is_default: 0 | 1;
  permissions: Permission[];
}

export type RoleList<Include = undefined> = With<RoleListItem, Include>[];

export interface RoleListItem {
  id: number;
  name: string;
  description: string | null;
  permission_count: number;
  user_count: number;
  /** Only with `include=version`: for `If-Match` of a change. */
  version?: number;
  /** Only with `include=changed`: when it, or what belongs to it alone, was last changed. */
  changed?: string;
}

export interface RoleSummary {
  id: number;
  name: string;
  description: string;
}

export interface Series {
  id: number;
  name: string;
  /** Its name in addresses. */
  slug: string;
  type: string;
  origin: string;
  /** Only with `include=added`: when it was added. */
  added?: string;
  /** Only with `include=changed`: when it, or what belongs to it alone, was last changed. */
  changed?: string;
  /** Its names in all languages. */
  aliases: SeriesAlias[];
  descriptions: SeriesDescription[];
  tags: Tag[];
  /** By number. */
  volumes: SeriesVolume[];
  /** The published ones, by sort name. */
  contributors: SeriesContributor[];
  /** By name. */
  publishers: SeriesPublisher[];
}

export interface SeriesAlias {
  id: number;
  name: string;
  language: string;
  /** Only with `include=language_code`: the BCP 47 tag of its language; empty if not known. */
  language_code?: string;
}

export interface SeriesContributor {
  id: number;
  first_name: string;
  /** Empty if there is none. */
  last_name: string;
  /** Its name in addresses. */
  slug: string;
  /** Its address, or null. */
  image: string | null;
  /** What they did, such as `author and artist`; empty if not known. */
  role: string;
}

export interface SeriesDescription {
  id: number;
  description: string;
  /** Its English name. */
  language: string;
  /** Only with `include=language_code`: the BCP 47 tag of its language; empty if not known. */
  language_code?: string;
}

export interface SeriesList<Include = undefined> extends Page {
  series: With<SeriesListItem, Include>[];
}

export interface SeriesListItem {
  id: number;
  name: string;
  /** Its name in addresses. */
  slug: string;
  type: string;
  origin: string;
  /** Its name in the requested language; else in English, else the name. */
  alias: string;
  /** Likewise; else any, or empty. */
  description: string;
  tags: Tag[];
  /** Only with `include=language_code`: the BCP 47 tag of the alias's language; empty if not known. */
  language_code?: string;
  /** Only with `include=language_code`: the BCP 47 tag of the description's language; empty if not known. */
  description_language_code?: string;
  /** The one that stands for the work: the first with a cover. */
  volume?: Volume;
  /** Only with `include=added`: when it was added. */
  added?: string;
  /** Only with `include=changed`: when it, or what belongs to it alone, was last changed. */
  changed?: string;
}

export interface SeriesPublisher {
  id: number;
  name: string;
  /** Its name in addresses. */
  slug: string;
  /** Its address, or empty. */
  image: string;
}

export interface SeriesReference {
  name: string;
  slug: string;
}

export interface SeriesVolume {
  id: number;
  /** Its position in the series. */
  number: number;
  /** Its address, or empty. */
  cover_path: string;
  /** Width by height. */
  aspect_ratio: number;
  nsfw: 0 | 1;
  nsfw18: 0 | 1;
}

export interface Session {
  user: SessionUser;
  /** The keys of those of the fifteen that the user holds. */
  permissions: (
    | "view-users"
    | "edit-users"
    | "delete-users"
    | "view-roles"
    | "edit-roles"
    | "add-roles"
    | "delete-roles"
    | "view-permissions"
    | "edit-permissions"
    | "add-permissions"
    | "delete-permissions"
    | "view-contributors"
    | "add-contributors"
    | "edit-contributors"
    | "delete-contributors"
  )[];
  /** When the session ends, unless it is revoked before. */
  expires: string;
}

export interface SessionUser {
  id: number;
  /** Its name in addresses. */
  slug: string;
  username: string;
  /** Its address, or null. */
  profile_image: string | null;
}

export type Slug = string;

export interface Tag {
  id: number;
  name: string;
}

export interface UpdateAvatar {
  /** A Base64-encoded image, as a data URL or bare, of at most 6,000,000 characters. */
  image: string;
}

export interface UpdateUserImage {
  /** A Base64-encoded image, as a data URL or bare, of at most 6,000,000 characters. */
  image: string;
}

export interface User {
  id: number;
  /** Its name in addresses. */
  slug: string;
  username: string;
  /** Its address, or null. */
  profile_image: string | null;
  /** ISO 8601 in UTC: `2026-11-20T10:15:00.000Z`. */
  registered: string;
  age_verified: boolean;
  /** Whether they have a valid session. */
  logged_in: boolean;
  roles: UserRole[];
}

export interface UserList<Include = undefined> extends Page {
  users: With<UserListItem, Include>[];
}

export interface UserListItem {
  id: number;
  /** Its name in addresses. */
  slug: string;
  username: string;
  age_verified: boolean;
  /** Its address, or empty. */
  profile_image: string;
  /** ISO 8601 in UTC: `2026-11-20T10:15:00.000Z`. */
  registered: string;
  roles: RoleSummary[];
  /** Who else is editing them. */
  lock: UserReference | null;
  /** Only with `include=version`: for `If-Match` of a change. */
  version?: number;
  /** Only with `include=changed`: when it, or what belongs to it alone, was last changed. */
  changed?: string;
}

export interface UserReference {
  id: number;
  username: string;
}

export interface UserRole {
  id: number;
  name: string;
  description: string | null;
}

export interface Volume {
  id: number;
  /** Its address, or empty. */
  cover_path: string;
  /** Width by height. */
  aspect_ratio: number;
  nsfw: 0 | 1;
  nsfw18: 0 | 1;
}

export interface Work {
  id: number;
  name: string;
  /** Its name in addresses. */
  slug: string;
  type: string;
  origin: string;
  /** Its name in the requested language; else in English, else the name. */
  alias: string;
  /** Likewise; else any, or empty. */
  description: string;
  tags: Tag[];
  /** Only with `include=language_code`: the BCP 47 tag of the alias's language; empty if not known. */
  language_code?: string;
  /** Only with `include=language_code`: the BCP 47 tag of the description's language; empty if not known. */
  description_language_code?: string;
  /** The one that stands for the work: the first with a cover. */
  volume?: Volume;
}

export interface WorkList<Include = undefined> extends Page {
  works: With<Work, Include>[];
}

/**
 * Why a parameter is invalid.
 * - `missing`: it is absent, null or empty
 * - `type`: it is of another JSON type than `expected`
 * - `format`: the text cannot be read, such as letters for a number
 * - `range`: the number is less than `min`, or larger than `max`
 * - `long`: it has more than `max` characters or elements
 * - `unknown`: it is none of the values in `allowed`, or the id of a record that is not there
 * - `invalid`: it contains something that is not accepted
 * - `invisible-character`: the name has within it the invisible `character`, such as U+200B
 * - `repeated`: the record would have two of a kind, such as descriptions of one language and source
 * - `twice`: the query has it twice
 * - `json`: the body is no JSON from the character at `position` on, counted from 0
 * - `utf8`: the body is no UTF-8
 * - `reused`: the key belongs to another request
 * - `undeclared`: the operation has no such parameter, and the request prefers `handling=strict`
 */
export type Reason =
  | "missing"
  | "type"
  | "format"
  | "range"
  | "long"
  | "unknown"
  | "invalid"
  | "invisible-character"
  | "repeated"
  | "twice"
  | "json"
  | "utf8"
  | "reused"
  | "undeclared";

/** What can go wrong with any call; `Field` are the names of its parameters. */
export type PublicErrors<Field extends string = never> =
  | Invalid<Field>
  | Failure<413, "Request too long">
  | Failure<415, "Unsupported media type">
  | Failure<429, "Too many requests">
  | Failure<504, "Endpoint request timed out">
  | Failure<500, "Internal server error">
  | Failure<503, "Service unavailable, try again in a few seconds">;

/** What can go wrong with a call that needs a permission. */
export type AdminErrors<Field extends string = never> =
  | PublicErrors<Field>
  | Failure<401, "Unauthorized">
  | Failure<403, "Forbidden">;

/** What can go wrong with a change. After the 503 of `PublicErrors` it may have been made. */
export type ChangeErrors<Field extends string = never> =
  | AdminErrors<Field | "Idempotency-Key">
  | Failure<503, "Service unavailable, nothing was changed">;

/** What can go wrong with a change of a record that has a version. */
export type VersionedErrors<Field extends string = never> =
  | ChangeErrors<Field | "If-Match">
  | Failure<412, "Precondition failed">;
