import addContributor from "./add-contributor.sql";
import addPermission from "./add-permission.sql";
import addRole from "./add-role.sql";
import admission from "./admission.sql";
import announceImage from "./announce-image.sql";
import authority from "./authority.sql";
import clearImage from "./clear-image.sql";
import createUser from "./create-user.sql";
import deleteContributor from "./delete-contributor.sql";
import deletePermission from "./delete-permission.sql";
import deleteRole from "./delete-role.sql";
import deleteUser from "./delete-user.sql";
import editContributor from "./edit-contributor.sql";
import editPermission from "./edit-permission.sql";
import editRole from "./edit-role.sql";
import editUser from "./edit-user.sql";
import forgetImages from "./forget-images.sql";
import images from "./images.sql";
import logOutUser from "./log-out-user.sql";
import openRecords from "./open-records.sql";
import openSession from "./open-session.sql";
import records from "./records.sql";
import replaceImage from "./replace-image.sql";
import request from "./request.sql";
import restorePermissions from "./restore-permissions.sql";
import tidy from "./tidy.sql";

/**
 * What changes have in common, in an order in which it can be made. Bodies of functions hold no colon, since the Data
 * API looks for parameters in there too.
 */
export const steps = [request, authority, admission, records, images, openRecords] as const;

/** The changes themselves: of the database functions in these files, the one that is called is named like this. */
export const changes = {
  add_contributor: addContributor,
  add_permission: addPermission,
  add_role: addRole,
  announce_image: announceImage,
  clear_image: clearImage,
  create_user: createUser,
  delete_contributor: deleteContributor,
  delete_permission: deletePermission,
  delete_role: deleteRole,
  delete_user: deleteUser,
  edit_contributor: editContributor,
  edit_permission: editPermission,
  edit_role: editRole,
  edit_user: editUser,
  forget_images: forgetImages,
  log_out_user: logOutUser,
  open_session: openSession,
  replace_image: replaceImage,
  restore_permissions: restorePermissions,
  tidy,
} as const;

/** What the service's statements call: they open the way, or change something. Everything else is called by these. */
export const entries = [
  "admitted",
  "commanded",
  "caller",
  "open_contributor",
  "open_user",
  ...Object.keys(changes),
] as const;
