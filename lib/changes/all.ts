/**
 * What changes have in common, in the order in which it is created. Bodies of functions contain no colon, since the
 * Data API looks for parameters in them, too.
 */
const sharedFunctions = [
  "request",
  "authority",
  "begin_request",
  "rows",
  "contributor_elements",
  "images",
  "open_record",
  "sessions",
  "identities",
  "undo",
  "import_lines",
  "make_change",
  "sign_in",
  "make_sign_in",
] as const;

/** Changes that neither give nor take authority: they run beside each other. */
const changesBesideOthers = [
  "add_contributor",
  "check_session",
  "edit_contributor",
  "prepare_image",
  "release_lock",
  "set_image",
] as const;

/** Changes that run alone. */
const changesAlone = [
  "add_permission",
  "add_role",
  "delete_contributor",
  "delete_permission",
  "delete_role",
  "delete_user",
  "edit_permission",
  "edit_role",
  "edit_user",
  "log_out_user",
] as const;

/** Changes for which a session is enough; they run alone. */
const changesWithoutPermission = ["sign_out"] as const;

/** Changes that an operator makes beside others. */
const operatorChangesBesideOthers = ["import_records", "tidy"] as const;

/** Changes that an operator makes, and that run alone. */
const operatorChangesAlone = [
  "claim_images",
  "list_former_images",
  "create_user",
  "end_sessions",
  "link_identity",
  "merge_contributors",
  "open_session",
  "restore_permissions",
  "undo_changes",
  "unlist_images",
] as const;

export type ChangeName = (typeof changesBesideOthers | typeof changesAlone)[number];
export type ChangeNameWithoutPermission = (typeof changesWithoutPermission)[number];
export type OperatorChangeName = (typeof operatorChangesBesideOthers | typeof operatorChangesAlone)[number];

/** A line of make-change.sql that names one of these stands for such a line of each of its changes. */
const placeholders = {
  each_change_beside_others: changesBesideOthers,
  each_change: [...changesBesideOthers, ...changesAlone, ...changesWithoutPermission],
  each_operator_change_beside_others: operatorChangesBesideOthers,
  each_operator_change: [...operatorChangesBesideOthers, ...operatorChangesAlone],
};

const filled = (text: string): string =>
  Object.entries(placeholders).reduce(
    (filling, [placeholder, changes]) =>
      filling.replace(new RegExp(`^.*'${placeholder}'.*\n`, "m"), (line) =>
        changes.map((name) => line.replaceAll(placeholder, name)).join(""),
      ),
    text,
  );

/** All files, in the order in which they are run. A file's name is that of its function, with dashes. */
export const scripts = await Promise.all(
  [...sharedFunctions, ...placeholders.each_change, ...placeholders.each_operator_change].map(async (name) => {
    const file = name.replaceAll("_", "-");
    // The build puts all files into the bundle; Vite, by which tests load them, warns of such an import.
    const { default: text }: { readonly default: string } = await import(/* @vite-ignore */ `./${file}.sql`);
    return { path: `lib/changes/${file}.sql`, text: filled(text) };
  }),
);

/** The functions that the service's statements call, by the role that may. All others are called by these. */
export const callableFunctions = {
  colophon_reader: ["caller", "session_caller", "open_record"],
  colophon_editor: ["make_change"],
  colophon_operator: ["make_operator_change", "described_change", "record_label"],
  colophon_signer: ["make_sign_in"],
} as const;
