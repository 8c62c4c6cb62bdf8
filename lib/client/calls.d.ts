// Printed from the declarations in lib/contract by `npm run openapi`.
import type { BodyOrPatch, Options, Result } from "./index.js";

/** Every call, by method and path. What it needs is a permission of the caller's. */
export interface Calls {
  // Users

  /** Lists users with their roles and who is editing them. Needs `view-users`. */
  GET(
    path: "/admin-users",
    options?: Options<{ query?: ListUsersQuery }>,
  ): Call<UserList, AdminErrors<keyof ListUsersQuery>>;

  /** Shows a user; opens an edit lock for callers who may edit. Needs `view-users`. */
  GET(
    path: "/admin-users/id/{id}",
    options: ById<{ query?: GetUserQuery }>,
  ): Call<User, AdminErrors<keyof GetUserQuery> | Failure<404, "User not found">, { version: string }>;

  /** Changes a user's name, age verification and roles; a merge patch only those that it names. Needs `edit-users`. */
  POST(
    path: "/admin-users/edit/{id}",
    options: ById<BodyOrPatch<EditUser>>,
  ): Call<
    Done<"User updated">,
    | VersionedErrors<keyof EditUser>
    | BodyErrors
    | Failure<404, "User not found">
    | Failure<409, "Username already taken">
  >;

  /** Logs a user out by revoking their refresh tokens. Needs `edit-users`. */
  POST(
    path: "/admin-users/logout/{id}",
    options: ById,
  ): Call<Done<"User logged out">, VersionedErrors | Failure<404, "User not found">>;

  /** Sets a user's profile image. Needs `edit-users`. */
  POST(
    path: "/admin-users/update-image/{id}",
    options: ById<{ body: UpdateUserImage }>,
  ): Call<
    Done<"Profile image updated">,
    | VersionedErrors<keyof UpdateUserImage>
    | BodyErrors
    | Failure<404, "User not found">
    | Failure<503, "This service is not handling file uploads.">
  >;

  /** Removes a user's profile image. Needs `edit-users`. */
  DELETE(
    path: "/admin-users/delete-image/{id}",
    options: ById,
  ): Call<
    Done<"Profile image deleted">,
    VersionedErrors | Failure<404, "User not found"> | Failure<503, "This service is not handling file uploads.">
  >;

  /** Deletes a user and all that belongs to them. Needs `delete-users`. */
  DELETE(
    path: "/admin-users/delete/{id}",
    options: ById,
  ): Call<Done<"User deleted">, VersionedErrors | Failure<404, "User not found">>;

  // Roles

  /** Lists roles with the number of their permissions and users. Needs `view-roles`. */
  GET(path: "/admin-roles", options?: Options): Call<RoleList, AdminErrors>;

  /** Shows a role with its permissions. Needs `view-roles`. */
  GET(
    path: "/admin-roles/id/{id}",
    options: ById,
  ): Call<Role, AdminErrors | Failure<404, "Role not found">, { version: string }>;

  /** Adds a role without permissions. Needs `add-roles`. */
  POST(
    path: "/admin-roles/add",
    options: Options<{ body: AddRole }>,
  ): Call<
    Done<"Role added">,
    ChangeErrors<keyof AddRole> | BodyErrors | Failure<409, "Role with the same name already exists">,
    { created: number }
  >;

  /** Changes a role's name, description and permissions. Needs `edit-roles`. */
  POST(
    path: "/admin-roles/edit/{id}",
    options: ById<{ body: EditRole }>,
  ): Call<
    Done<"Role updated">,
    | VersionedErrors<keyof EditRole>
    | BodyErrors
    | Failure<404, "Role not found">
    | Failure<409, "Role with the same name already exists">
  >;

  /** Deletes a role; users who held only this one get the default role. Needs `delete-roles`. */
  DELETE(
    path: "/admin-roles/delete/{id}",
    options: ById,
  ): Call<
    Done<"Role deleted">,
    VersionedErrors | Failure<404, "Role not found"> | Failure<405, "Cannot delete default role">
  >;

  // Permissions

  /** Lists permissions. Needs `view-permissions`. */
  GET(path: "/admin-permissions", options?: Options): Call<PermissionList, AdminErrors>;

  /** Shows a permission. Needs `view-permissions`. */
  GET(
    path: "/admin-permissions/id/{id}",
    options: ById,
  ): Call<Permission, AdminErrors | Failure<404, "Permission not found">, { version: string }>;

  /** Adds a permission for other services to use; it opens nothing here. Needs `add-permissions`. */
  POST(
    path: "/admin-permissions/add",
    options: Options<{ body: AddPermission }>,
  ): Call<
    Done<"Permission added">,
    ChangeErrors<keyof AddPermission> | BodyErrors | Failure<409, "Permission with the same name already exists">,
    { created: number }
  >;

  /** Renames and describes a permission; what it opens stays the same. Needs `edit-permissions`. */
  POST(
    path: "/admin-permissions/edit/{id}",
    options: ById<{ body: EditPermission }>,
  ): Call<
    Done<"Permission updated">,
    | VersionedErrors<keyof EditPermission>
    | BodyErrors
    | Failure<404, "Permission not found">
    | Failure<409, "Permission with the same name already exists">
  >;

  /** Takes a permission from every role and deletes it. Needs `delete-permissions`. */
  DELETE(
    path: "/admin-permissions/delete/{id}",
    options: ById,
  ): Call<Done<"Permission deleted">, VersionedErrors | Failure<404, "Permission not found">>;

  // Administrative contributors

  /** Lists a client's contributors, unpublished ones included, with who is editing them. Needs `view-contributors`. */
  GET(
    path: "/admin-contributors",
    options: Options<{ query: ListAdminContributorsQuery }>,
  ): Call<AdminContributorList, AdminErrors<keyof ListAdminContributorsQuery>>;

  /** Shows a contributor; opens an edit lock for callers who may edit. Needs `view-contributors`. */
  GET(
    path: "/admin-contributors/id/{id}",
    options: ById<{ query?: GetAdminContributorQuery }>,
  ): Call<
    AdminContributor,
    AdminErrors<keyof GetAdminContributorQuery> | Failure<404, "Contributor not found">,
    { version: string }
  >;

  /** Adds a contributor, not yet published; shared by all clients unless one is named. Needs `add-contributors`. */
  POST(
    path: "/admin-contributors/add",
    options: Options<{ query?: AddContributorQuery; body: AddContributor }>,
  ): Call<
    Done<"Contributor added">,
    | ChangeErrors<keyof AddContributorQuery | keyof AddContributor>
    | BodyErrors
    | Failure<409, "Contributor with this Name exists already.">
    | Failure<500, "An error occurred while adding the contributor">,
    { created: number }
  >;

  /** Changes a contributor, all fields at once; a merge patch only those that it names. Needs `edit-contributors`. */
  POST(
    path: "/admin-contributors/edit/{id}",
    options: ById<BodyOrPatch<EditContributor>>,
  ): Call<
    Done<"Contributor updated">,
    | VersionedErrors<keyof EditContributor>
    | BodyErrors
    | Failure<404, "Contributor not found">
    | Failure<409, "Contributor with this Name exists already.">
    | Failure<500, "An error occurred while updating the contributor">
  >;

  /** Sets a contributor's avatar. Needs `edit-contributors`. */
  POST(
    path: "/admin-contributors/update-avatar/{id}",
    options: ById<{ body: UpdateAvatar }>,
  ): Call<
    Done<"Contributor avatar updated">,
    | VersionedErrors<keyof UpdateAvatar>
    | BodyErrors
    | Failure<404, "Contributor not found">
    | Failure<500, "An error occurred while updating the contributor avatar">
    | Failure<503, "This service is not handling file uploads.">
  >;

  /** Removes a contributor's avatar. Needs `edit-contributors`. */
  DELETE(
    path: "/admin-contributors/delete-avatar/{id}",
    options: ById,
  ): Call<
    Done<"Contributor avatar deleted">,
    | VersionedErrors
    | Failure<404, "Contributor not found">
    | Failure<500, "An error occurred while deleting the contributor avatar">
    | Failure<503, "This service is not handling file uploads.">
  >;

  /** Deletes a contributor and all that belongs to it. Needs `delete-contributors`. */
  DELETE(
    path: "/admin-contributors/delete/{id}",
    options: ById,
  ): Call<
    Done<"Contributor deleted">,
    | VersionedErrors
    | Failure<404, "Contributor not found">
    | Failure<500, "An error occurred while deleting the contributor">
  >;

  // Public contributors

  /** Gives the slug of a random published contributor of a client. Needs no permission. */
  GET(
    path: "/contributor/random",
    options: Options<{ query: GetRandomContributorQuery }>,
  ): Call<Slug, PublicErrors<keyof GetRandomContributorQuery> | Failure<404, "No contributors found">>;

  /** Looks up a published contributor by slug. Needs no permission. */
  GET(
    path: "/contributor/slug/{slug}",
    options: Options<{ path: { slug: string } }>,
  ): Call<Contributor, PublicErrors | Failure<404, "Contributor not found">>;

  /** Lists the works of a contributor. Needs no permission. */
  GET(
    path: "/contributor/works/{id}",
    options: ById<{ query: ListWorksQuery }>,
  ): Call<WorkList, PublicErrors<keyof ListWorksQuery>>;

  /** Lists the published contributors of a client. Needs no permission. */
  GET(
    path: "/contributors",
    options: Options<{ query: ListContributorsQuery }>,
  ): Call<ContributorList, PublicErrors<keyof ListContributorsQuery>>;

  // Public publishers

  /** Lists the series a publisher published. Needs no permission. */
  GET(
    path: "/publisher/publications/{id}",
    options: ById<{ query: ListPublicationsQuery }>,
  ): Call<PublicationList, PublicErrors<keyof ListPublicationsQuery>>;

  /** Gives the slug of a random publisher of a client. Needs no permission. */
  GET(
    path: "/publisher/random",
    options: Options<{ query: GetRandomPublisherQuery }>,
  ): Call<Slug, PublicErrors<keyof GetRandomPublisherQuery> | Failure<404, "Publisher not found">>;

  /** Looks up a publisher by slug. Needs no permission. */
  GET(
    path: "/publisher/slug/{slug}",
    options: Options<{ path: { slug: string } }>,
  ): Call<Publisher, PublicErrors | Failure<404, "Publisher not found">>;

  /** Lists publishers. Needs no permission. */
  GET(
    path: "/publishers",
    options?: Options<{ query?: ListPublishersQuery }>,
  ): Call<PublisherList, PublicErrors<keyof ListPublishersQuery>>;

  // Beyond the interface

  /** Shows who is signed in, what they may do, and until when. Needs a session, and no permission. */
  GET(path: "/session", options?: Options): Call<Session, PublicErrors | Failure<401, "Unauthorized">>;

  /** Ends the session, and forgets the cookie. Needs no permission. */
  POST(
    path: "/sign-out",
    options?: Options,
  ): Call<
    Done<"Signed out">,
    PublicErrors | Failure<403, "Forbidden"> | Failure<503, "This service is not handling sign-in.">
  >;

  /** Gives the caller's edit lock on a contributor back. Needs `view-contributors`. */
  DELETE(
    path: "/admin-contributors/lock/{id}",
    options: ById,
  ): Call<Done<"Lock released">, VersionedErrors | Failure<404, "Contributor not found">>;

  /** Gives the caller's edit lock on a user back. Needs `view-users`. */
  DELETE(
    path: "/admin-users/lock/{id}",
    options: ById,
  ): Call<Done<"Lock released">, VersionedErrors | Failure<404, "User not found">>;

  // What the compiler explains when none of these fits a call; a path may be one of several here.
  GET<Path extends keyof Reads>(path: Path, ...options: Reads[Path]["options"]): Call<Reads[Path]["data"], AnyFailure>;
  POST<Path extends keyof Posts>(path: Path, ...options: Posts[Path]): Call<Done<string>, AnyFailure>;
  DELETE<Path extends keyof Deletes>(path: Path, ...options: Deletes[Path]): Call<Done<string>, AnyFailure>;
}

/** What a call comes to: a promise of its result. */
export type Call<Data, Errors, Known = unknown> = Promise<Result<Data, Errors, Known>>;

/** What a call is given that is about one record. */
export type ById<Own = unknown> = Options<{ path: { id: number } } & Own>;

/** Which records of a list are asked for. */
export interface PageQuery {
  /** The most records to give; all of them by default. */
  limit?: number;
  /** The records to skip. */
  offset?: number;
  /**
   * Words that all occur in the name or an alias (of users: in the name), in any order, as parts of words too,
   * regardless of case and accents; `%` and `_` stand for themselves.
   */
  search?: string;
}

export interface ListUsersQuery extends PageQuery {
  /** By default `name-asc`. */
  order?: "name-asc" | "name-desc" | "registered-asc" | "registered-desc";
  /** Only users with the role of this id. */
  role?: number;
}

export interface GetUserQuery {
  /** `none` shows the record without taking its edit lock, or renewing it. */
  lock?: "none";
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

export interface UpdateUserImage {
  /** A Base64-encoded image, as a data URL or bare, of at most 6,000,000 characters. */
  image: string;
}

export interface AddRole {
  name: string;
  description: string;
}

export interface EditRole {
  name: string;
  description?: string | null;
  /** Ids of permissions. */
  added_permissions?: number[] | null;
  /** Ids of permissions; one that is also added ends up removed. */
  removed_permissions?: number[] | null;
}

export interface AddPermission {
  name: string;
  description: string;
}

export interface EditPermission {
  name: string;
  description: string;
}

export interface ListAdminContributorsQuery extends PageQuery {
  /** By default `name-asc`. */
  order?: "name-asc" | "name-desc";
  /** The website whose catalogue is asked for. */
  client: number;
  /** Further fields to show, separated by commas. */
  include?: "type" | "public" | "client" | "public,client" | "type,public" | "type,client" | "type,public,client";
}

export interface GetAdminContributorQuery {
  /** Further fields to show, separated by commas. */
  include?: "type" | "public" | "client" | "public,client" | "type,public" | "type,client" | "type,public,client";
  /** `none` shows the record without taking its edit lock, or renewing it. */
  lock?: "none";
}

export interface AddContributorQuery {
  /** The website whose catalogue is asked for. */
  client?: number;
}

export interface AddContributor {
  first_name: string;
  /** By default `null`. */
  last_name?: string | null;
}

export interface EditContributor {
  first_name: string;
  /** By default `null`. */
  last_name?: string | null;
  /** Any text, such as `female`. By default `null`. */
  gender?: string | null;
  /** Any text, such as `author and artist`. By default `null`. */
  type?: string | null;
  /**
   * Addresses of web pages, http or https, as strings or as a detail shows them; `https://` is added where neither
   * is named.
   */
  links?: (string | { url: string })[] | null;
  /** Whether public endpoints show the contributor. By default `false`. */
  public?: boolean | null;
  /** Names, as text or as objects with a `name`. */
  added_aliases?: (string | { name: string })[] | null;
  /** Ids of aliases, or objects with an `id`. */
  removed_aliases?: (number | { id: number })[] | null;
  /** Languages by their English names or two-letter codes; any other text is kept as it is. */
  added_descriptions?: { description: string; language: string; source?: string }[] | null;
  /** Ids of descriptions, or objects with an `id`. */
  removed_descriptions?: (number | { id: number })[] | null;
  /** Ids of descriptions with what changes of them. */
  modified_descriptions?: { id: number; description?: string; language?: string; source?: string }[] | null;
  /** Other contributors by their ids, and how they are related: any text, such as `sibling`. */
  added_relations?: { relation_id: number; relation_type: string }[] | null;
  /** Ids of relations, or objects with an `id`. */
  removed_relations?: (number | { id: number })[] | null;
  /** Ids of relations with what changes of them. */
  modified_relations?: { id: number; relation_id?: number; relation_type?: string }[] | null;
}

export interface UpdateAvatar {
  /** A Base64-encoded image, as a data URL or bare, of at most 6,000,000 characters. */
  image: string;
}

export interface GetRandomContributorQuery {
  /** The website whose catalogue is asked for. */
  client: number;
}

export interface ListWorksQuery extends PageQuery {
  /** By default `name-asc`. */
  order?: "name-asc" | "name-desc" | "added-asc" | "added-desc";
  /** The language of `alias` and `description`, by its English name or two-letter code. By default `English`. */
  user_lang?: string;
  /** The website whose catalogue is asked for. */
  client: number;
}

export interface ListContributorsQuery extends PageQuery {
  /** Reserved; not used yet. */
  lang?: string;
  /** By default `name-asc`. */
  order?: "name-asc" | "name-desc" | "added-asc" | "added-desc";
  /** The website whose catalogue is asked for. */
  client: number;
  /** Further fields to show, separated by commas. */
  include?: "slug";
}

export interface ListPublicationsQuery extends PageQuery {
  /** By default `name-asc`. */
  order?: "name-asc" | "name-desc" | "added-asc" | "added-desc";
  /** The website whose catalogue is asked for. */
  client: number;
  /** The language of `alias` and `description`, by its English name or two-letter code. By default `English`. */
  user_lang?: string;
}

export interface GetRandomPublisherQuery {
  /** The website whose catalogue is asked for. */
  client: number;
}

export interface ListPublishersQuery extends PageQuery {
  /** Reserved; not used yet. */
  lang?: string;
  order?: "name-asc" | "name-desc" | "added-asc" | "added-desc";
}

/** What a list says of the records that it gives. */
export interface Page {
  /** All records that match, whatever the page. */
  max: number;
  /** Index of the first record given. */
  from: number;
  /** Index after the last record given; the offset of the next page. */
  to: number;
}

export interface UserList extends Page {
  users: UserListItem[];
}

export type RoleList = RoleListItem[];

export type PermissionList = Permission[];

export interface AdminContributorList extends Page {
  contributors: AdminContributorListItem[];
}

export interface WorkList extends Page {
  works: Work[];
}

export interface ContributorList extends Page {
  contributors: ContributorListItem[];
}

export interface PublicationList extends Page {
  publications: Publication[];
}

export interface PublisherList extends Page {
  publishers: PublisherListItem[];
  /** The records given. */
  count: number;
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
  /** Pages about them, normalised. */
  links: { url: string; domain: string }[];
  aliases: { id: number; name: string }[];
  /** Languages have their English names; a source may be empty. */
  descriptions: { id: number; description: string; language: string; source: string }[];
  relations: {
    id: number;
    /** The other contributor's id. */
    relation_id: number;
    relation_type: string;
    name: string;
    first_name: string;
    last_name: string;
    slug: string;
  }[];
  /** Only with `include=type`; empty if not known. */
  type?: string;
  /** Only with `include=public`: whether public endpoints show them. */
  public?: boolean;
  /** Only with `include=client`: the website that has them alone; null if all do. */
  client?: number | null;
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
  /** Who else is editing them. */
  locked_by?: { id: number; username: string };
}

export interface Contributor {
  id: number;
  first_name: string;
  /** Empty if there is none. */
  last_name: string;
  /** Its name in addresses. */
  slug: string;
  /** Its address, or null. */
  image: string | null;
  /** Null if not known. */
  gender: string | null;
  /** Pages about them, normalised. */
  links: { url: string; domain: string }[];
  /** Languages have their English names; a source may be empty. */
  descriptions: { id: number; description: string; language: string; source: string }[];
  aliases: { id: number; name: string }[];
  relations: {
    id: number;
    /** The other contributor's id. */
    relation_id: number;
    relation_type: string;
    name: string;
    first_name: string;
    last_name: string;
    slug: string;
  }[];
}

export interface ContributorListItem {
  id: number;
  first_name: string;
  /** Empty if there is none. */
  last_name: string;
  /** Only with `include=slug`. */
  slug?: string;
  /** Its address, or null. */
  image: string | null;
  /** Null if not known. */
  gender: string | null;
  series_count: number;
  /** One of the series, chosen at random. */
  random_series?: { name: string; slug: string };
}

export interface Permission {
  id: number;
  name: string;
  description: string;
}

export interface Publication extends Work {
  aliases: { id: number; name: string; language: string }[];
}

export interface Publisher {
  id: number;
  name: string;
  /** Its name in addresses. */
  slug: string;
  /** Its address, or empty. */
  image: string;
  /** Its address, or empty. */
  website: string;
  /** The website's host, or empty. */
  domain: string;
  /** Empty if not known. */
  country: string;
  /** Languages have their English names; a source may be empty. */
  descriptions: { id: number; description: string; language: string; source: string }[];
  aliases: { id: number; title: string; language: string }[];
  relations: { id: number; relation_id: number; type: string; name: string; image: string; slug: string }[];
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
  /** YYYY-MM-DD, or empty. */
  founding_date: string;
  /** Its address, or empty. */
  image: string;
  image_source: string;
}

export interface Role {
  id: number;
  name: string;
  description: string;
  /** 1 for the role that users get who would have none. */
  is_default: 0 | 1;
  permissions: { id: number; name: string; description: string }[];
}

export interface RoleListItem {
  id: number;
  name: string;
  description: string | null;
  permission_count: number;
  user_count: number;
}

export interface Session {
  user: {
    id: number;
    /** Its name in addresses. */
    slug: string;
    username: string;
    /** Its address, or null. */
    profile_image: string | null;
  };
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

/** What stands for a record in addresses. */
export type Slug = string;

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
  roles: { id: number; name: string; description: string | null }[];
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
  roles: { id: number; name: string; description: string }[];
  /** Who else is editing them. */
  lock: { id: number; username: string } | null;
}

export interface Work {
  id: number;
  name: string;
  /** Its name in addresses. */
  slug: string;
  type: string;
  origin: string;
  /** Its name in the language that was asked for; else in English, else the name. */
  alias: string;
  /** Likewise; else any, or empty. */
  description: string;
  tags: { id: number; name: string }[];
  /** The one that stands for the work: the first with a cover. */
  volume?: {
    id: number;
    /** Its address, or empty. */
    cover_path: string;
    /** Width by height. */
    aspect_ratio: number;
    nsfw: 0 | 1;
    nsfw18: 0 | 1;
  };
}

/** The answer of a change. */
export interface Done<Message extends string> {
  data: Message;
  code: 200;
}

/** An error: the envelope, with its message as a type. */
export interface Failure<Code extends number, Message extends string> {
  code: Code;
  data: Message;
  field?: undefined;
}

/** A request that cannot be read. `field` is the parameter to blame, where the message names one. */
export interface Invalid<Field extends string> {
  code: 400;
  data: "Required parameters missing" | `Invalid parameter: ${Field}`;
  field: Field | undefined;
}

/** What any call can answer; `Field` are the names of its parameters. */
export type PublicErrors<Field extends string = never> =
  | Invalid<Field>
  | Failure<429, "Too many requests">
  | Failure<500, "Internal server error">
  | Failure<503, "Service unavailable, try again in a few seconds">
  | Failure<504, "Endpoint request timed out">;

/** What a call with the cookie can answer. */
export type AdminErrors<Field extends string = never> =
  | PublicErrors<Field>
  | Failure<401, "Unauthorized">
  | Failure<403, "Forbidden">;

/** What a change can answer. After the 503 of `PublicErrors` it may have been made. */
export type ChangeErrors<Field extends string = never> =
  | AdminErrors<Field | "Idempotency-Key">
  | Failure<503, "Service unavailable, nothing was changed">;

/** What a change of a record with a version can answer. */
export type VersionedErrors<Field extends string = never> =
  | ChangeErrors<Field | "If-Match">
  | Failure<412, "Precondition failed">;

/** What a call with a body can answer beside these. */
export type BodyErrors = Failure<413, "Request too long"> | Failure<415, "Unsupported media type">;

/** Any error of any call. */
export type AnyFailure = Failure<number, string> | Invalid<string>;

/** The lists that have pages. */
export interface Lists {
  "/admin-users": { field: "users"; item: UserListItem };
  "/admin-contributors": { field: "contributors"; item: AdminContributorListItem };
  "/contributor/works/{id}": { field: "works"; item: Work };
  "/contributors": { field: "contributors"; item: ContributorListItem };
  "/publisher/publications/{id}": { field: "publications"; item: Publication };
  "/publishers": { field: "publishers"; item: PublisherListItem };
}

/** Every GET, by its path. */
export interface Reads {
  "/admin-users": { options: [Options<{ query?: ListUsersQuery }>?]; data: UserList };
  "/admin-users/id/{id}": { options: [ById<{ query?: GetUserQuery }>]; data: User };
  "/admin-roles": { options: [Options?]; data: RoleList };
  "/admin-roles/id/{id}": { options: [ById]; data: Role };
  "/admin-permissions": { options: [Options?]; data: PermissionList };
  "/admin-permissions/id/{id}": { options: [ById]; data: Permission };
  "/admin-contributors": { options: [Options<{ query: ListAdminContributorsQuery }>]; data: AdminContributorList };
  "/admin-contributors/id/{id}": { options: [ById<{ query?: GetAdminContributorQuery }>]; data: AdminContributor };
  "/contributor/random": { options: [Options<{ query: GetRandomContributorQuery }>]; data: Slug };
  "/contributor/slug/{slug}": { options: [Options<{ path: { slug: string } }>]; data: Contributor };
  "/contributor/works/{id}": { options: [ById<{ query: ListWorksQuery }>]; data: WorkList };
  "/contributors": { options: [Options<{ query: ListContributorsQuery }>]; data: ContributorList };
  "/publisher/publications/{id}": { options: [ById<{ query: ListPublicationsQuery }>]; data: PublicationList };
  "/publisher/random": { options: [Options<{ query: GetRandomPublisherQuery }>]; data: Slug };
  "/publisher/slug/{slug}": { options: [Options<{ path: { slug: string } }>]; data: Publisher };
  "/publishers": { options: [Options<{ query?: ListPublishersQuery }>?]; data: PublisherList };
  "/session": { options: [Options?]; data: Session };
}

/** Every POST, by its path. */
export interface Posts {
  "/admin-users/edit/{id}": [ById<BodyOrPatch<EditUser>>];
  "/admin-users/logout/{id}": [ById];
  "/admin-users/update-image/{id}": [ById<{ body: UpdateUserImage }>];
  "/admin-roles/add": [Options<{ body: AddRole }>];
  "/admin-roles/edit/{id}": [ById<{ body: EditRole }>];
  "/admin-permissions/add": [Options<{ body: AddPermission }>];
  "/admin-permissions/edit/{id}": [ById<{ body: EditPermission }>];
  "/admin-contributors/add": [Options<{ query?: AddContributorQuery; body: AddContributor }>];
  "/admin-contributors/edit/{id}": [ById<BodyOrPatch<EditContributor>>];
  "/admin-contributors/update-avatar/{id}": [ById<{ body: UpdateAvatar }>];
  "/sign-out": [Options?];
}

/** Every DELETE, by its path. */
export interface Deletes {
  "/admin-users/delete-image/{id}": [ById];
  "/admin-users/delete/{id}": [ById];
  "/admin-roles/delete/{id}": [ById];
  "/admin-permissions/delete/{id}": [ById];
  "/admin-contributors/delete-avatar/{id}": [ById];
  "/admin-contributors/delete/{id}": [ById];
  "/admin-contributors/lock/{id}": [ById];
  "/admin-users/lock/{id}": [ById];
}
