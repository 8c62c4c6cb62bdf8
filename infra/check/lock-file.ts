import lock from "../../package-lock.json" with { type: "json" };

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

/**
 * What the lock file leaves to trust: packages without a hash, which npm would install whatever they contain, and
 * packages that are not from npm's registry.
 */
export function problemsOf(packages: Readonly<Record<string, Locked>>): string[] {
  const installed = Object.entries(packages).filter(([path, { link }]) => path.includes("node_modules/") && !link);
  return [
    ...installed
      .filter(([, { integrity, inBundle }]) => integrity === undefined && !inBundle)
      .map(([path, { version }]) => `${path} ${version} has no integrity`),
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
