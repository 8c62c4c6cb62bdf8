/** A website that the catalogue serves. */
export interface Client {
  id: number;
  name: string;
}

export interface Description {
  language: string;
  description: string;
  source?: string;
}

/** A person or group who makes works; `client` is absent where both clients share them. */
export interface Contributor {
  key: string;
  first_name: string;
  last_name?: string;
  gender?: string;
  type?: string;
  client?: number;
  public?: boolean;
  links?: string[];
  aliases?: string[];
  descriptions?: Description[];
  relations?: { to: string; type: string }[];
}

export interface Publisher {
  key: string;
  name: string;
  short_name?: string;
  country?: string;
  website?: string;
  headquarter?: string;
  founding_date?: string;
  client?: number;
  aliases?: { title: string; language: string }[];
  descriptions?: Description[];
  relations?: { to: string; type: string }[];
}

export interface Volume {
  number: number;
  aspect_ratio?: number;
  nsfw?: number;
  nsfw18?: number;
  /** False: the volume has no cover. */
  cover?: boolean;
}

/** A work: one book or many volumes. */
export interface Series {
  key: string;
  name: string;
  type: string;
  origin: string;
  client?: number;
  aliases?: { name: string; language: string }[];
  descriptions?: { language: string; description: string }[];
  tags: string[];
  contributors: { key: string; role?: string }[];
  publishers: string[];
  volumes: Volume[];
}

export interface User {
  username: string;
  roles: string[];
  /** For this machine only. */
  token?: string;
  age_verified?: boolean;
  registered?: string;
}

export interface Role {
  name: string;
  description?: string;
  permissions: string[];
}
