import lock from "../package-lock.json" with { type: "json" };

/** What the lock file has of a package. */
interface Locked {
  readonly [field: string]: unknown;
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  /** It is in this repository. */
  readonly link?: boolean;
  /** It is in the tarball of the package that depends on it, whose hash covers it. */
  readonly inBundle?: boolean;
}

interface Gap {
  /** The beginning of the packages' paths. */
  readonly prefix: string;
  readonly version: string;
}

/**
 * Builds for other machines of two tools of the check, which the registry lacked when the lock file was written. The
 * next version of the tool has to come with all hashes.
 */
const knownGaps: readonly Gap[] = [
  { prefix: "node_modules/@biomejs/cli-", version: "2.6.8" },
  { prefix: "node_modules/@oxc-parser/binding-", version: "0.156.0" },
];

/**
 * What the lock file leaves to trust: packages without a hash, which npm would install whatever they contain, and
 * packages that are not from npm's registry.
 */
export function problemsOf(packages: Readonly<Record<string, Locked>>, gaps: readonly Gap[] = knownGaps): string[] {
  const installed = Object.entries(packages).filter(([path, { link }]) => path.includes("node_modules/") && !link);
  const unhashed = installed.filter(([, { integrity, inBundle }]) => integrity === undefined && !inBundle);
  const fills = ({ prefix, version }: Gap, [path, locked]: readonly [string, Locked]) =>
    path.startsWith(prefix) && locked.version === version;
  return [
    ...unhashed
      .filter((each) => !gaps.some((gap) => fills(gap, each)))
      .map(([path, { version }]) => `${path} ${version} has no integrity`),
    ...gaps
      .filter((gap) => !unhashed.some((each) => fills(gap, each)))
      .map(({ prefix, version }) => `${prefix}… ${version} needs no exception any more`),
    ...installed
      .filter(([, { resolved = registry }]) => !resolved.startsWith(registry))
      .map(([path, { resolved }]) => `${path} comes from ${resolved}`),
  ].map((problem) => `package-lock.json: ${problem}`);
}

const registry = "https://registry.npmjs.org/";

if (import.meta.main) {
  const problems = problemsOf(lock.packages);
  if (problems.length > 0) {
    console.error(problems.join("\n"));
    process.exitCode = 1;
  }
}
