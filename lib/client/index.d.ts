import type {
  AdminContributor,
  Deletes,
  Page,
  Permission,
  Posts,
  Reads,
  Reason,
  Role,
  Session,
  User,
} from "./calls.js";

export type * from "./calls.js";

/** How often a request is sent again when that may help. */
export interface Retry {
  /** How often a request is sent at most; 3 by default. */
  attempts?: number;
  /** How many seconds a call waits at most, all its waits together; 30 by default. */
  seconds?: number;
  /** After how many seconds without a response a request counts as lost; 35 by default, 300 for an image. */
  attemptSeconds?: number;
}

/** The options of any call. All others go to `fetch` as they are, such as `cache` or Next.js' `next`. */
export interface CallOptions extends Omit<RequestInit, "body" | "headers" | "method" | "signal"> {
  headers?: Record<string, string> | undefined;
  /** Ends the call, its repetitions too. */
  signal?: AbortSignal | undefined;
  retry?: false | Retry | undefined;
}

/** An endpoint: what a call takes, and what it comes to. */
export interface Endpoint<About, Input, Data, Errors, Known = unknown> {
  input: Input;
  data: Data;
  errors: Errors;
  call: Call<About, Data, Errors, Known>;
}

/** What a call does and who may do it, and a promise of what it comes to. */
export interface Call<_About, Data, Errors, Known = unknown> extends Promise<Result<Data, Errors, Known>> {}

/** All fields, where what is left out gets its default; or a merge patch, where it stays as it is. */
export type BodyOrPatch<Body> = { body: Body; patch?: never } | { body?: never; patch: Partial<Body> };

/** What a call takes that is about one record. */
export interface ById {
  path: { id: number };
}

/**
 * Any of these words, each once, in any order, with commas between them. What follows three words is left to the service,
 * since the compiler would make each order of all of them.
 */
export type Selection<Word extends string> = Word | { [One in Word]: `${One},${Further<Exclude<Word, One>>}` }[Word];
type Further<Word extends string> =
  | Word
  | { [One in Word]: `${One},${Exclude<Word, One>}` | `${One},${Exclude<Word, One>},${string}` }[Word];

/** A record with the fields that `include` names. */
export type With<Data, Include> = Include extends string
  ? Data & Required<Pick<Data, Words<Include> & keyof Data>>
  : Data;
type Words<Include> = Include extends `${infer One},${infer Others}` ? One | Words<Others> : Include;

/** The options of a call, which may be left out if nothing in them is required. */
type Options<Input, Include = undefined, Own = CallOptions> = object extends Input
  ? [options?: Input & Own & Included<Input, Include>]
  : [options: Input & Own & Included<Input, Include>];

/** Asks for nothing, as no input extends `never`: only for the compiler, which infers `Include` from the first type. */
type Included<Input, Include> = Input extends never ? { query: { include: Include } } : unknown;

/** What `include` may ask for. */
type Includable<Path extends keyof Reads> =
  | (Reads[Path]["input"] extends { query?: { include?: infer Words } } ? Words : never)
  | undefined;

/** A record whose edit lock the call has taken. */
export interface Locked {
  version: string;
  /** Releases the lock without saving; also while the page is being left. */
  close(): Promise<void>;
}

/** What a call resolves to: `data` if the status is 200, or else `error`, the envelope. */
export type Result<Data, Failure, Known = unknown> = (Success<Data> & Known) | Refusal<Failure>;

interface Success<Data> {
  data: Data;
  error?: undefined;
  response: Response;
  /** The version of a record, its `ETag`. */
  version?: string;
  /** The id of the record that an add has made. */
  created?: number;
}

interface Refusal<Failure> {
  data?: undefined;
  error: Failure;
  response: Response;
  version?: undefined;
  created?: undefined;
  close?: undefined;
}

/** The envelope of a change that was made. */
export interface Done<Message extends string> {
  data: Message;
  code: 200;
}

/** An error: the envelope, with its message as a type. */
export interface Failure<Code extends number, Message extends string> {
  code: Code;
  data: Message;
  field?: undefined;
  fields?: undefined;
}

/** A request with parameters that are missing or invalid. */
export interface Invalid<Field extends string> {
  code: 400;
  data: "Required parameters missing" | `Invalid parameter: ${Field}`;
  /** The first of `fields`. */
  field: Field | undefined;
  /** All of them, with their reasons. */
  fields: InvalidField<Field>[];
}

/** A form with fields that are missing or invalid. */
export interface InvalidForm<Field extends string> extends Omit<Invalid<Field>, "data"> {
  data: string;
}

/** What is wrong with a parameter. */
export interface InvalidField<Field extends string = string> {
  name: Field;
  reason: Reason;
  /** The JSON type that it must have. */
  expected?: string;
  /** The values that it may have, with blanks between them. */
  allowed?: string;
  min?: number;
  max?: number;
  /** Where within the parameter, as a JSON pointer: `/0/language`. */
  at?: string;
}

/** Any error of any call. */
export type AnyFailure = Failure<number, string> | Invalid<string>;

export interface ClientOptions extends CallOptions {
  /** In place of the global `fetch`. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** Called for each call that comes to 401: there is no session, or no longer. Only `session()` does not call it. */
  onSignedOut?: (() => void) | undefined;
}

/** Who is signed in. */
export interface SignedIn extends Session {
  /** Whether the user has one of the fifteen permissions, by its key. */
  can(permission: Session["permissions"][number]): boolean;
}

/** A record as it was opened: plain values, which may be kept in a state. The result of a call is one, too. */
export interface Opened<Data> {
  data: Data;
  version: string;
}

type Emptiable<Value> = Value | null | undefined;
type Form<Fields> = { [Name in keyof Fields]?: Emptiable<Fields[Name]> };

/**
 * A contributor as a form has it. What the form lacks, or has as `undefined`, stays; null and "" empty a field. Elements
 * without an id are added, and those that are missing are removed.
 */
export interface ContributorForm
  extends Form<
    Pick<AdminContributor, "first_name" | "last_name" | "gender" | "type" | "public" | "disambiguation" | "sort_name">
  > {
  links?: Emptiable<readonly (string | { url: string })[]>;
  aliases?: Emptiable<readonly (string | { id?: Emptiable<number>; name: string })[]>;
  descriptions?: Emptiable<readonly Form<AdminContributor["descriptions"][number]>[]>;
  relations?: Emptiable<readonly Form<{ id: number; relation_id: number | string; relation_type: string }>[]>;
}

/** A user as a form has it. What the form lacks, or has as `undefined`, stays. */
export interface UserForm extends Form<Pick<User, "username" | "age_verified">> {
  /** The roles that the user has then, or their ids. */
  roles?: Emptiable<readonly (number | { id: number })[]>;
}

/** A role as a form has it. What the form lacks, or has as `undefined`, stays. */
export interface RoleForm extends Form<Pick<Role, "name" | "description">> {
  /** The permissions that the role has then, or their ids. */
  permissions?: Emptiable<readonly (number | { id: number })[]>;
}

/** A permission as a form has it. What the form lacks, or has as `undefined`, stays. */
export interface PermissionForm extends Form<Pick<Permission, "name" | "description">> {}

export interface EditOptions<Data> extends CallOptions {
  /**
   * What is there now, from a conflict: makes the same changes to it. What the form has not touched stays as another user
   * has made it meanwhile, and deleted elements stay deleted.
   */
  onto?: Opened<Data> | undefined;
}

/** What has become of an edit: unless it is saved, `error` is what the service has answered. */
export type EditResult<Data, Form, Failed> =
  | { status: "saved"; error?: undefined }
  /** Another user has changed the record meanwhile, and this edit changed nothing. `current` is what is there now. */
  | { status: "conflict"; error: Extract<Failed, { code: 412 }>; current: Opened<Data> }
  /** Another record has this name. */
  | { status: "taken"; error: Extract<Failed, { code: 409 }> }
  /** Fields are named as in the form. */
  | { status: "invalid"; error: InvalidForm<keyof Form & string> }
  /** Anything else: no session, no permission, no such record, no service. */
  | { status: "refused"; error: Exclude<Failed, { code: 400 | 409 | 412 }> };

/** What has become of the edit that this path makes. */
type Edited<Path extends keyof Posts, Data, Form> = EditResult<Data, Form, Posts[Path]["errors"]>;

/** What has become of an upload. */
export type UploadResult<Data> =
  /** `opened` is the record with its new image: what a form that is open is saved from. */
  | { status: "saved"; error?: undefined; opened: Opened<Data> }
  | { status: "refused"; error: Posts["/admin-contributors/update-avatar/{id}"]["errors"] };

/** The paths of lists that have pages, and the records of one. */
type ListPath = { [Path in keyof Reads]: Reads[Path]["data"] extends Page ? Path : never }[keyof Reads];
type ItemOf<List> = { [Field in keyof List]: List[Field] extends (infer Item)[] ? Item : never }[keyof List];

interface PagedOptions extends CallOptions {
  /** How many records a page has; 100 by default. */
  pageSize?: number;
  query?: { limit?: never };
}

/** What a query gives: a detail with its version, as `editContributor` takes it; of anything else the data. */
type Queried<Path extends keyof Reads, Include> = Path extends `/admin-${string}/id/{id}`
  ? Opened<Reads<Include>[Path]["data"]>
  : Reads<Include>[Path]["data"];

/** The interface of Colophon: the calls of its endpoints, and what is made of them. */
export interface Colophon {
  /** Reads a record or a list. */
  GET<Path extends keyof Reads, Include extends Includable<Path> = undefined>(
    path: Path,
    ...options: Options<Reads[Path]["input"], Include>
  ): Reads<Include>[Path]["call"];

  /** Changes something, once, however often it is sent. */
  POST<Path extends keyof Posts>(path: Path, ...options: Options<Posts[Path]["input"]>): Posts[Path]["call"];

  /** Deletes something, or gives it back. */
  DELETE<Path extends keyof Deletes>(path: Path, ...options: Options<Deletes[Path]["input"]>): Deletes[Path]["call"];

  /**
   * Reads a list page by page, from `query.offset` on. Between two pages a list may change: then a record comes twice, or
   * not at all.
   * @throws {RequestFailed} for an error of the service
   */
  pages<Path extends ListPath, Include extends Includable<Path> = undefined>(
    path: Path,
    ...options: Options<Reads[Path]["input"], Include, PagedOptions>
  ): AsyncGenerator<Reads<Include>[Path]["data"], void, undefined>;

  /**
   * Reads all records of a list, page by page, each once.
   * @throws {RequestFailed} for an error of the service
   */
  all<Path extends ListPath, Include extends Includable<Path> = undefined>(
    path: Path,
    ...options: Options<Reads[Path]["input"], Include, PagedOptions>
  ): Promise<ItemOf<Reads<Include>[Path]["data"]>[]>;

  /**
   * Who is signed in, or undefined. The service is asked once, and again after a 401, a sign-out or a failure.
   * @throws {RequestFailed} for an error of the service other than 401
   */
  session(): Promise<SignedIn | undefined>;

  /**
   * Saves what a form has changed of a contributor since it was opened, and nothing else: if another user has changed it
   * meanwhile, this is a conflict. It frees the caller's edit lock, also if nothing has changed.
   * @throws {TypeError} for a form with `type`, `public`, `disambiguation` or `sort_name` if the record was opened without it in
   *   `include`, since the client cannot know then whether the field has changed
   */
  editContributor<Data extends AdminContributor>(
    opened: Opened<Data>,
    form: ContributorForm,
    options?: EditOptions<Data>,
  ): Promise<Edited<"/admin-contributors/edit/{id}", Data, ContributorForm>>;

  /** Saves what a form has changed of a user since it was opened, as `editContributor` does. */
  editUser(
    opened: Opened<User>,
    form: UserForm,
    options?: EditOptions<User>,
  ): Promise<Edited<"/admin-users/edit/{id}", User, UserForm>>;

  /** Saves what a form has changed of a role since it was opened, as `editContributor` does. */
  editRole(
    opened: Opened<Role>,
    form: RoleForm,
    options?: EditOptions<Role>,
  ): Promise<Edited<"/admin-roles/edit/{id}", Role, RoleForm>>;

  /** Saves what a form has changed of a permission since it was opened, as `editContributor` does. */
  editPermission(
    opened: Opened<Permission>,
    form: PermissionForm,
    options?: EditOptions<Permission>,
  ): Promise<Edited<"/admin-permissions/edit/{id}", Permission, PermissionForm>>;

  /**
   * Sets the avatar of a contributor whose form is open. This is a new version of the record; the form is then saved from
   * the result's `opened`. If another user has changed the contributor meanwhile, saving it is the same conflict as before.
   * @throws {RangeError} if the file is larger than the service takes, 4.5 MB
   */
  updateAvatar<Data extends AdminContributor>(
    opened: Opened<Data>,
    file: Blob,
    options?: CallOptions,
  ): Promise<UploadResult<Data>>;

  /** Key and function of a query for TanStack Query. Its error is a `RequestFailed`. */
  queryOptions<Path extends keyof Reads, Include extends Includable<Path> = undefined>(
    path: Path,
    ...options: Options<Reads[Path]["input"], Include>
  ): {
    queryKey: readonly [Path, object, object];
    queryFn: (context?: { signal?: AbortSignal }) => Promise<Queried<Path, Include>>;
  };
}

/** An error of the service, thrown by what gives no result to look at: lists and queries. */
export class RequestFailed extends Error {
  override readonly name: "RequestFailed";
  readonly error: AnyFailure;
  readonly response: Response;
  constructor(error: AnyFailure, response: Response);
}

/**
 * Makes a client for the service at this base URL. A call rejects only if there is no response of the service at all, if
 * there is no such path, or if a path parameter is empty, `.` or `..`: no URL can hold that. Browsers send the cookie along where it is needed, unless `credentials`
 * is set.
 *
 * The client repeats a call after 429, 504, a 503 with `Retry-After`, and if there is no response.
 * Changes carry an `Idempotency-Key`, so they are made once.
 * @throws {TypeError} for a base URL without a scheme
 */
export function createClient(baseUrl: string, options?: ClientOptions): Colophon;

/**
 * An image as a data URL, as `update-avatar` and `update-image` take it.
 * @throws {RangeError} if it is larger than the service takes, 4.5 MB
 */
export function imageOf(file: Blob): Promise<string>;
