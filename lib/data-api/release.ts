import { raw, type Sql } from "sql-template-tag";

/** The schema of this bundle's release. The build sets the variable (infra/build/build.ts). */
export const release = process.env.RELEASE_SCHEMA ?? "";

/** The qualified name of a database function of this release. */
export const inReleaseSchema = (name: string): Sql => raw(`${release}.${name}`);

/** A deployment installs a release's functions before any request reaches its bundles. */
export const releaseMissing = `The database has no schema ${release}: run the ops-migrate of the very release that this function is of`;
