/** A made-up user; one without roles gets the default role. */
export interface User {
  username: string;
  roles: string[];
  /** For this machine only. */
  token?: string;
  age_verified?: boolean;
  registered?: string;
}

/** A role in addition to those of the migrations. */
export interface Role {
  name: string;
  description?: string;
  permissions: string[];
}
