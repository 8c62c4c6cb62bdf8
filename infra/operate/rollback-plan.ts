import type { Contraction } from "../../lib/migrations/contractions.ts";
import { versionsKept } from "../../lib/operators/versions.ts";
import type { ReleasedFunction } from "./released-functions.ts";

export interface Release {
  readonly name: string;
  readonly migration: number;
  /** When its last function was published; ISO 8601. */
  readonly publishedAt: string;
}

export interface Step {
  readonly function: ReleasedFunction;
  /** Undefined if the function is newer than the release, so it stays as it is. */
  readonly version: number | undefined;
  /** Whether the function already has this version. */
  readonly isDone: boolean;
}

export interface Plan {
  /** The newest release that gets traffic. */
  readonly from: Release;
  readonly to: Release;
  /** The last migration of the database. */
  readonly applied: number;
  readonly steps: readonly Step[];
}

/**
 * Plans how all functions get to one release.
 * @param to its name; default: the one before the newest that gets traffic
 * @throws if there is no such release, or not all functions can go there
 */
export function planRollback(
  functions: readonly ReleasedFunction[],
  { to, contractions }: { readonly to: string | undefined; readonly contractions: readonly Contraction[] },
): Plan {
  const releases = releasesOf(functions);
  const from = servedRelease(functions, releases);
  const target = to === undefined ? releases[releases.indexOf(from) + 1] : releases.find(({ name }) => name === to);
  if (!target) {
    const reason = to === undefined ? `There is no release before ${from.name}` : `There is no release ${to}`;
    throw new Error(`${reason}. Lambda has:\n${releases.map(describe).join("\n")}`);
  }
  const applied = Math.max(...releases.map(({ migration }) => migration));
  expectMigrated(target, applied, contractions);
  const older = new Set(releases.slice(releases.indexOf(target) + 1).map(({ name }) => name));
  return { from, to: target, applied, steps: functions.map((each) => stepOf(each, target, older)) };
}

export const describe = ({ name, migration, publishedAt }: Release): string =>
  `${name} of ${publishedAt.slice(0, 16).replace("T", " ")} UTC, migration ${migration}`;

/** All releases that Lambda still has versions of, newest first. */
function releasesOf(functions: readonly ReleasedFunction[]): Release[] {
  const releases = new Map<string, Release>();
  for (const { release: name, migration, publishedAt } of functions.flatMap(({ versions }) => versions)) {
    if (name !== undefined && publishedAt >= (releases.get(name)?.publishedAt ?? "")) {
      releases.set(name, { name, migration, publishedAt });
    }
  }
  return [...releases.values()].sort((one, other) => (one.publishedAt < other.publishedAt ? 1 : -1));
}

/** The newest release that gets traffic of a function that could go back. */
function servedRelease(functions: readonly ReleasedFunction[], releases: readonly Release[]): Release {
  const served = functions.map((each) => ({ each, release: servingVersion(each)?.release }));
  const unnamed = served.find(({ release }) => release === undefined)?.each;
  if (unnamed) {
    const { name, live } = unnamed;
    throw new Error(`Version ${live} of ${name} names no release, so nobody knows what belongs together: deploy first`);
  }
  const movable = served.filter(({ each }) => new Set(each.versions.map(({ release }) => release)).size > 1);
  const names = new Set((movable.length > 0 ? movable : served).map(({ release }) => release));
  const newest = releases.find(({ name }) => names.has(name));
  if (!newest) throw new Error("No function gets traffic");
  return newest;
}

const servingVersion = ({ versions, live }: ReleasedFunction) => versions.find(({ number }) => number === live);

/** The database's migrations stay. */
function expectMigrated(target: Release, applied: number, contractions: readonly Contraction[]): void {
  const broken = contractions.find((each) => each.migration <= applied && target.migration < each.worksSince);
  if (!broken) return;
  throw new Error(
    `Release ${target.name} was made for migration ${target.migration}, and ${broken.migration} took away what releases ` +
      `before ${broken.worksSince} use`,
  );
}

function stepOf(each: ReleasedFunction, target: Release, older: ReadonlySet<string>): Step {
  const { name, versions, live } = each;
  const found = versions.findLast(({ release }) => release === target.name);
  if (found) {
    const current = servingVersion(each);
    if (current && current.cluster !== found.cluster) {
      throw new Error(`Release ${target.name} uses another database cluster: the database was restored since`);
    }
    return { function: each, version: found.number, isDone: live === found.number };
  }
  const isNewer = versions.length < versionsKept && !versions.some(({ release }) => older.has(release ?? ""));
  if (!isNewer) throw new Error(`${name} has no version of release ${target.name} any more, so nothing was changed`);
  return { function: each, version: undefined, isDone: true };
}
