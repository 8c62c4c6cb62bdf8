/** The fifteen permissions of this service, by their immutable keys (README.md, "Authentication"). */
export const permissions = {
  "view-users": "See users, their roles and who is logged in",
  "edit-users": "Edit users, their roles and images, and log them out",
  "delete-users": "Delete users",
  "view-roles": "See roles and what they permit",
  "edit-roles": "Edit roles and what they permit",
  "add-roles": "Add roles",
  "delete-roles": "Delete roles",
  "view-permissions": "See permissions",
  "edit-permissions": "Rename and describe permissions",
  "add-permissions": "Add permissions",
  "delete-permissions": "Delete permissions",
  "view-contributors": "See contributors, unpublished ones included",
  "add-contributors": "Add contributors",
  "edit-contributors": "Edit contributors and their avatars",
  "delete-contributors": "Delete contributors",
} as const;

export type Permission = keyof typeof permissions;

/** The permission whose original name this is, regardless of case: PostgreSQL also folds `ß` to `ss`, and `ſ` to `s`. */
export const keyOf = (name: string): string | undefined =>
  Object.keys(permissions).find((key) => key.toUpperCase() === name.toLowerCase().toUpperCase());
