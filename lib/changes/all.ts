import addContributor from "./add-contributor.sql";
import addPermission from "./add-permission.sql";
import addRole from "./add-role.sql";
import authority from "./authority.sql";
import beginRequest from "./begin-request.sql";
import checkSession from "./check-session.sql";
import claimImages from "./claim-images.sql";
import contributorElements from "./contributor-elements.sql";
import createUser from "./create-user.sql";
import deleteContributor from "./delete-contributor.sql";
import deletePermission from "./delete-permission.sql";
import deleteRole from "./delete-role.sql";
import deleteUser from "./delete-user.sql";
import editContributor from "./edit-contributor.sql";
import editPermission from "./edit-permission.sql";
import editRole from "./edit-role.sql";
import editUser from "./edit-user.sql";
import endSessions from "./end-sessions.sql";
import identities from "./identities.sql";
import images from "./images.sql";
import importLines from "./import-lines.sql";
import importRecords from "./import-records.sql";
import linkIdentity from "./link-identity.sql";
import listFormerImages from "./list-former-images.sql";
import logOutUser from "./log-out-user.sql";
import makeChange from "./make-change.sql";
import makeSignIn from "./make-sign-in.sql";
import mergeContributors from "./merge-contributors.sql";
import openRecord from "./open-record.sql";
import openSession from "./open-session.sql";
import prepareImage from "./prepare-image.sql";
import releaseContributorLock from "./release-contributor-lock.sql";
import releaseUserLock from "./release-user-lock.sql";
import removeImage from "./remove-image.sql";
import replaceImage from "./replace-image.sql";
import request from "./request.sql";
import restorePermissions from "./restore-permissions.sql";
import rows from "./rows.sql";
import sessions from "./sessions.sql";
import signIn from "./sign-in.sql";
import signOut from "./sign-out.sql";
import tidy from "./tidy.sql";
import undo from "./undo.sql";
import undoChanges from "./undo-changes.sql";
import unlistImages from "./unlist-images.sql";

/**
 * What changes have in common, in the order in which it is created. Bodies of functions contain no colon, since the
 * Data API looks for parameters in them, too.
 */
const sharedFunctions = {
  request,
  authority,
  begin_request: beginRequest,
  contributor_elements: contributorElements,
  images,
  open_record: openRecord,
  sessions,
  identities,
  rows,
  undo,
  import_lines: importLines,
  make_change: makeChange,
  sign_in: signIn,
  make_sign_in: makeSignIn,
};

/** Changes that neither give nor take authority: they run beside each other. */
const changesBesideOthers = {
  add_contributor: addContributor,
  check_session: checkSession,
  edit_contributor: editContributor,
  prepare_image: prepareImage,
  release_contributor_lock: releaseContributorLock,
  release_user_lock: releaseUserLock,
  remove_image: removeImage,
  replace_image: replaceImage,
};

/** Changes that run alone. */
const changesAlone = {
  add_permission: addPermission,
  add_role: addRole,
  delete_contributor: deleteContributor,
  delete_permission: deletePermission,
  delete_role: deleteRole,
  delete_user: deleteUser,
  edit_permission: editPermission,
  edit_role: editRole,
  edit_user: editUser,
  log_out_user: logOutUser,
};

/** Changes for which a session is enough; they run alone. */
const changesWithoutPermission = {
  sign_out: signOut,
};

/** Changes that an operator makes beside others. */
const operatorChangesBesideOthers = {
  import_records: importRecords,
  tidy,
};

/** Changes that an operator makes, and that run alone. */
const operatorChangesAlone = {
  claim_images: claimImages,
  list_former_images: listFormerImages,
  create_user: createUser,
  end_sessions: endSessions,
  link_identity: linkIdentity,
  merge_contributors: mergeContributors,
  open_session: openSession,
  restore_permissions: restorePermissions,
  undo_changes: undoChanges,
  unlist_images: unlistImages,
};

export type ChangeName = keyof typeof changesBesideOthers | keyof typeof changesAlone;
export type ChangeNameWithoutPermission = keyof typeof changesWithoutPermission;
export type OperatorChangeName = keyof typeof operatorChangesBesideOthers | keyof typeof operatorChangesAlone;

/** A line of make-change.sql that names one of these stands for such a line of each of its changes. */
const placeholders = {
  each_change_beside_others: changesBesideOthers,
  each_change: { ...changesBesideOthers, ...changesAlone, ...changesWithoutPermission },
  each_operator_change_beside_others: operatorChangesBesideOthers,
  each_operator_change: { ...operatorChangesBesideOthers, ...operatorChangesAlone },
};

const filled = (text: string): string =>
  Object.entries(placeholders).reduce(
    (filling, [placeholder, changes]) =>
      filling.replace(new RegExp(`^.*'${placeholder}'.*\n`, "m"), (line) =>
        Object.keys(changes)
          .map((name) => line.replaceAll(placeholder, name))
          .join(""),
      ),
    text,
  );

/** All files, in the order in which they are run. A file's name is that of its entry above, with dashes. */
export const scripts = Object.entries({
  ...sharedFunctions,
  ...placeholders.each_change,
  ...placeholders.each_operator_change,
}).map(([name, text]) => ({ path: `lib/changes/${name.replaceAll("_", "-")}.sql`, text: filled(text) }));

/** The functions that the service's statements call, by the role that may. All others are called by these. */
export const callableFunctions = {
  colophon_reader: ["caller", "session_caller", "open_record"],
  colophon_editor: ["make_change"],
  colophon_operator: ["make_operator_change", "described_change"],
  colophon_signer: ["make_sign_in"],
} as const;
