import { invalidParameter } from "../contract/errors.ts";

/**
 * What a broken constraint means to the client: one row a constraint. Two requests may both find a name free, or a
 * role there, and only the constraint sees that one of them came too late.
 */
export const violations: Readonly<
  Record<string, { readonly status: 400 | 401 | 404 | 409; readonly message?: string }>
> = {
  users_username_key: { status: 409 },
  roles_name_key: { status: 409 },
  permissions_name_key: { status: 409 },
  contributors_name_key: { status: 409 },
  user_locks_user_id_fkey: { status: 404 },
  user_locks_holder_id_fkey: { status: 404 },
  contributor_locks_contributor_id_fkey: { status: 404 },
  contributor_locks_holder_id_fkey: { status: 401 },
  contributor_links_contributor_id_fkey: { status: 404 },
  contributor_aliases_contributor_id_fkey: { status: 404 },
  contributor_descriptions_contributor_id_fkey: { status: 404 },
  contributor_relations_contributor_id_fkey: { status: 404 },
  contributors_client_id_fkey: { status: 400, message: invalidParameter("client") },
  user_roles_user_id_fkey: { status: 404 },
  role_permissions_role_id_fkey: { status: 404 },
  user_roles_role_id_fkey: { status: 400, message: invalidParameter("added_roles") },
  role_permissions_permission_id_fkey: { status: 400, message: invalidParameter("added_permissions") },
  contributor_relations_relation_id_fkey: { status: 400, message: invalidParameter("added_relations") },
};
