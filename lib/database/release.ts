import { raw, type Sql } from "sql-template-tag";

/** The schema of the release that this bundle belongs to: the build puts its name in (infra/build/build.ts). */
export const release = process.env.RELEASE_SCHEMA ?? "";

/** A database function of this release. */
export const released = (name: string): Sql => raw(`${release}.${name}`);

/** The deployment installs a release's functions before it leads anybody to its bundles. */
export const unreleased = `The database has no schema ${release}: run the ops-migrate of the very release that this function is of`;
