import type { Permission } from "../contract/permissions.ts";

/** Functions that changes have in common, in the order in which they are created. */
const sharedFunctions = [
  "request",
  "authority",
  "begin_request",
  "rows",
  "limits",
  "described_change",
  "constraint_sentence",
  "contributor_elements",
  "images",
  "open_record",
  "sessions",
  "identities",
  "undo",
  "import_names",
  // Written by npm run statements.
  "import_tables",
  "import_lines",
  "sign_in",
  "make_sign_in",
] as const;

/** What `make_change` must know of a change. The caller of the database does not say it. */
export interface Terms {
  /** What the caller must hold. Without a permission a session is enough. */
  readonly permission?: Permission;
  /** The table of the record whose id is in the path. The record is locked, and its version compared. */
  readonly table?: string;
  /** The record may be a user who outranks the caller, since the caller changes only what is the caller's own. */
  readonly permitsOutranked?: true;
  /** It neither gives nor takes authority, and runs beside other such changes. All others run alone. */
  readonly besideOthers?: true;
}

/** The changes that callers make. */
export const changes = {
  add_contributor: { permission: "add-contributors", besideOthers: true },
  add_permission: { permission: "add-permissions" },
  add_role: { permission: "add-roles" },
  check_session: { besideOthers: true },
  delete_contributor: { permission: "delete-contributors", table: "contributors" },
  delete_permission: { permission: "delete-permissions", table: "permissions" },
  delete_role: { permission: "delete-roles", table: "roles" },
  delete_user: { permission: "delete-users", table: "users" },
  edit_contributor: { permission: "edit-contributors", table: "contributors", besideOthers: true },
  edit_permission: { permission: "edit-permissions", table: "permissions" },
  edit_role: { permission: "edit-roles", table: "roles" },
  edit_user: { permission: "edit-users", table: "users" },
  log_out_user: { permission: "edit-users", table: "users" },
  prepare_avatar: { permission: "edit-contributors", table: "contributors", besideOthers: true },
  prepare_user_image: { permission: "edit-users", table: "users", besideOthers: true },
  release_contributor_lock: { permission: "view-contributors", table: "contributors", besideOthers: true },
  release_user_lock: { permission: "view-users", table: "users", permitsOutranked: true, besideOthers: true },
  set_avatar: { permission: "edit-contributors", table: "contributors", besideOthers: true },
  set_user_image: { permission: "edit-users", table: "users", besideOthers: true },
  sign_out: {},
} as const satisfies Readonly<Record<string, Terms>>;

/** The changes that operators make. IAM decides who may. */
export const operatorChanges = {
  claim_images: {},
  create_user: {},
  end_sessions: {},
  import_records: { besideOthers: true },
  link_identity: {},
  list_former_images: {},
  merge_contributors: {},
  open_session: {},
  restore_permissions: {},
  tidy: { besideOthers: true },
  undo_changes: {},
  unlist_images: {},
} as const satisfies Readonly<Record<string, Pick<Terms, "besideOthers">>>;

export type ChangeName = keyof typeof changes;
export type OperatorChangeName = keyof typeof operatorChanges;

/** All functions in the order in which they are created. Their files have these names, with dashes. */
export const names: readonly string[] = [
  ...sharedFunctions,
  ...Object.keys(changes),
  ...Object.keys(operatorChanges),
  // Written by npm run statements. It calls all changes.
  "each_change",
  "make_change",
];

type TermsOf<Name extends ChangeName> = (typeof changes)[Name];

/** The changes that an endpoint makes: those with its permission, of the table that its path names. */
export type ChangeNameOf<D extends { readonly permission?: Permission; readonly path: string }> = {
  [Name in ChangeName]: TermsOf<Name> extends { readonly permission: D["permission"] }
    ? D["path"] extends `/admin-${infer Table}/${string}/{id}`
      ? TermsOf<Name> extends { readonly table: Table }
        ? Name
        : never
      : TermsOf<Name> extends { readonly table: string }
        ? never
        : Name
    : never;
}[ChangeName];

/** The functions that the service's statements call, by the role that may. All others are called by these. */
export const callableFunctions = {
  colophon_reader: ["caller", "session_caller", "open_record"],
  colophon_editor: ["make_change"],
  colophon_operator: ["make_operator_change", "described_change", "record_label"],
  colophon_signer: ["make_sign_in"],
} as const;
