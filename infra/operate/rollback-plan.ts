import type { Contraction } from "../../lib/migrations/contractions.ts";
import { versionsKept } from "../../lib/operators/release/versions.ts";
import type { ReleasedFunction, ReleasedVersion } from "./released-functions.ts";

/**
 * Plans how all functions get to one release. A release is represented by the version of it that was published last.
 * @param to its name; default: the one before the newest that gets traffic
 * @throws if there is no such release, or not all functions can go there
 */
export function planRollback(
  functions: readonly ReleasedFunction[],
  { to, contractions }: { readonly to: string | undefined; readonly contractions: readonly Contraction[] },
) {
  const releases = releasesOf(functions);
  const served = servedReleases(functions);
  const newest = releases.findIndex(({ release }) => served.has(release));
  const from = releases[newest];
  const target = to === undefined ? releases[newest + 1] : releases.find(isOfRelease(to));
  if (!from || !target) {
    const all = releases.map(describe).join("\n");
    throw new Error(`There is no release ${to ?? `before ${from?.release}`}. Lambda has:\n${all}`);
  }
  /** The last migration of the database, which stays. */
  const applied = Math.max(...releases.map(({ migration }) => migration));
  const broken = contractions.find((each) => each.migration <= applied && target.migration < each.worksSince);
  if (broken)
    throw new Error(
      `Release ${target.release} was made for migration ${target.migration}, and ${broken.migration} took away what ` +
        `releases before ${broken.worksSince} use`,
    );
  const steps = functions.map((each) => ({ name: each.name, live: each.live, version: versionIn(target, each) }));
  return { from, to: target, applied, steps };
}

export const describe = ({ release, migration, publishedAt }: ReleasedVersion): string =>
  `${release} of ${publishedAt.slice(0, 16).replace("T", " ")} UTC, migration ${migration}`;

const isOfRelease = (name: string | undefined) => (version: ReleasedVersion) => version.release === name;

/** All releases that Lambda still has versions of, newest first. */
function releasesOf(functions: readonly ReleasedFunction[]): ReleasedVersion[] {
  const versions = functions
    .flatMap((each) => each.versions)
    .sort((one, other) => (one.publishedAt < other.publishedAt ? 1 : -1));
  return versions.filter((each) => each.release !== undefined && versions.find(isOfRelease(each.release)) === each);
}

/** The releases that get traffic, of functions that could go back if there are any. */
function servedReleases(functions: readonly ReleasedFunction[]): ReadonlySet<string | undefined> {
  const served = functions.map(({ name, live, versions }) => {
    const release = currentOf({ live, versions })?.release;
    if (release !== undefined) return { release, isMovable: !versions.every(isOfRelease(release)) };
    throw new Error(`Version ${live} of ${name} names no release, so nobody knows what belongs together: deploy first`);
  });
  const movable = served.filter(({ isMovable }) => isMovable);
  return new Set((movable.length > 0 ? movable : served).map(({ release }) => release));
}

const currentOf = ({ versions, live }: Pick<ReleasedFunction, "versions" | "live">) =>
  versions.find(({ number }) => number === live);

/**
 * The function's version of a release; undefined if the function is newer than the release, so it stays as it is.
 * @throws if the function cannot go there
 */
function versionIn({ release, publishedAt }: ReleasedVersion, { name, versions, live }: ReleasedFunction) {
  const found = versions.findLast(isOfRelease(release));
  if (found) {
    if (currentOf({ live, versions })?.cluster === found.cluster) return found.number;
    throw new Error(`Release ${release} uses another database cluster: the database was restored since`);
  }
  if (versions.length < versionsKept && versions.every((each) => each.publishedAt > publishedAt)) return undefined;
  throw new Error(`${name} has no version of release ${release} any more, so nothing was changed`);
}
