import lock from "../../package-lock.json" with { type: "json" };

/** What the lock file has of a package. A link is in this repository; the hash of a tarball covers what is bundled in it. */
interface Locked {
  readonly [field: string]: unknown;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly inBundle?: boolean;
}

/**
 * What the lock file leaves to trust: packages without a hash, which npm would install whatever they contain, and
 * packages that are not from npm's registry.
 */
export const problemsOf = (packages: Readonly<Record<string, Locked>>): string[] =>
  Object.entries(packages).flatMap(([path, { integrity, resolved = registry, link, inBundle }]) => {
    if (!path.includes("node_modules/") || link) return [];
    return [
      ...(integrity || inBundle ? [] : [`package-lock.json: ${path} has no integrity`]),
      ...(resolved.startsWith(registry) ? [] : [`package-lock.json: ${path} comes from ${resolved}`]),
    ];
  });

const registry = "https://registry.npmjs.org/";

if (import.meta.main) {
  const problems = problemsOf(lock.packages);
  if (problems.length > 0) {
    console.error(problems.join("\n"));
    process.exitCode = 1;
  }
}
