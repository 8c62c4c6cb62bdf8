import type { Script } from "../migrations/script.ts";
import addContributor from "./add-contributor.sql";
import addPermission from "./add-permission.sql";
import addRole from "./add-role.sql";
import admit from "./admit.sql";
import authority from "./authority.sql";
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
import images from "./images.sql";
import logOutUser from "./log-out-user.sql";
import makeChange from "./make-change.sql";
import openRecords from "./open-records.sql";
import openSession from "./open-session.sql";
import prepareImage from "./prepare-image.sql";
import records from "./records.sql";
import removeImage from "./remove-image.sql";
import replaceImage from "./replace-image.sql";
import request from "./request.sql";
import restorePermissions from "./restore-permissions.sql";
import tidy from "./tidy.sql";
import unlistImages from "./unlist-images.sql";

/**
 * What changes have in common, in the order in which it is created. Bodies of functions contain no colon, since the
 * Data API looks for parameters in them, too.
 */
const steps = {
  request,
  authority,
  admit,
  records,
  contributor_elements: contributorElements,
  images,
  open_records: openRecords,
  make_change: makeChange,
} as const;

/** The files of the changes, by the name of the function that makes the change. */
export const changes = {
  add_contributor: addContributor,
  add_permission: addPermission,
  add_role: addRole,
  prepare_image: prepareImage,
  remove_image: removeImage,
  create_user: createUser,
  delete_contributor: deleteContributor,
  delete_permission: deletePermission,
  delete_role: deleteRole,
  delete_user: deleteUser,
  edit_contributor: editContributor,
  edit_permission: editPermission,
  edit_role: editRole,
  edit_user: editUser,
  unlist_images: unlistImages,
  log_out_user: logOutUser,
  open_session: openSession,
  replace_image: replaceImage,
  restore_permissions: restorePermissions,
  tidy,
} as const;

/** All files, in the order in which they are run. A file's name is that of its entry above, with dashes. */
export const scripts: readonly Script[] = Object.entries({ ...steps, ...changes }).map(([name, text]) => ({
  path: `lib/changes/${name.replaceAll("_", "-")}.sql`,
  text,
}));

/** The functions that the service's statements call, by the role that may. All others are called by these. */
export const entries = {
  colophon_reader: ["caller", "open_contributor", "open_user"],
  colophon_editor: ["make_change"],
  colophon_operator: ["make_operator_change"],
} as const;
