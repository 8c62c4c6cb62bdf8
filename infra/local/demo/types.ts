/** A website that the catalogue serves. */
export interface Client {
  id: number;
  name: string;
}

/** A text about a contributor or publisher in one language, and its source. */
export interface Description {
  language: string;
  description: string;
  source?: string;
}

/**
 * A person or group who makes works; `client` is absent where both clients share them. A relation's `type` is what `to`
 * is to this one: its spouse, child, mentor and so on. One with a `portrait` has an avatar.
 */
export interface Contributor {
  key: string;
  first_name: string;
  last_name?: string;
  gender?: string;
  type?: string;
  client?: number;
  public?: boolean;
  portrait?: Feature[];
  links?: string[];
  aliases?: string[];
  descriptions?: Description[];
  relations?: { to: string; type: string }[];
}

/** What a drawn portrait shows, from the back to the front. */
export type Feature =
  | "grey"
  | "short"
  | "quiff"
  | "bob"
  | "long"
  | "bun"
  | "curls"
  | "beard"
  | "glasses"
  | "beret"
  | "hat"
  | "cap";

/** A publishing house or imprint; a relation's `type` is what `to` is to this one: its imprint, parent company and so on. */
export interface Publisher {
  key: string;
  name: string;
  short_name?: string;
  country?: string;
  website?: string;
  headquarter?: string;
  /** YYYY-MM-DD, the first of January where only the year is known. */
  founding_date?: string;
  client?: number;
  aliases?: { title: string; language: string }[];
  descriptions?: Description[];
  relations?: { to: string; type: string }[];
}

/** One volume of a series; `aspect_ratio` is the width of its cover divided by the height. */
export interface Volume {
  number: number;
  aspect_ratio?: number;
  nsfw?: number;
  nsfw18?: number;
  /** False: the volume has no cover. */
  cover?: boolean;
}

/** A work: one book or many volumes, of which the first three are listed. */
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
