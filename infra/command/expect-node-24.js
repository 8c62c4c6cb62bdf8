/*
 * npm scripts run this before everything else: it ends them with a sentence where Node.js 24 or the packages are missing.
 * It is JavaScript without imports of packages, because any Node.js must be able to run it.
 */
import { existsSync, readFileSync } from "node:fs";

const root = new URL("../../", import.meta.url);
const { optionalDependencies } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
const { arch, platform, versions } = process;
const [major, minor] = versions.node.split(".").map(Number);
const nodePackage = `node-${platform.replace("win32", "win")}-${arch}`;

if (!existsSync(new URL("node_modules/.package-lock.json", root))) end("Nothing is installed: run npm ci");
// `import.meta.main` came with 24.2.
if (major < 24 || (major === 24 && minor < 2))
  end(
    `Node.js ${versions.node} cannot run this, which needs Node.js 24: ${
      nodePackage in optionalDependencies
        ? `run npm ci --include=optional, which installs ${nodePackage}`
        : `install it, since npm ci has none for ${platform} on ${arch}`
    }`,
  );

function end(sentence) {
  console.error(sentence);
  process.exit(1);
}
