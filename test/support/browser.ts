import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const paths = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executable = paths.find((path) => existsSync(path));

/** Without a browser, tests in a browser are skipped, unless the environment requires them. */
export const hasBrowser = executable !== undefined || process.env.COLOPHON_BROWSER === "required";

/** A headless Chromium, in a private window. */
export async function startBrowser(): Promise<Browser> {
  if (executable === undefined) throw new Error("Chromium is missing: apt-get install chromium");
  return await chromium.launch({
    executablePath: executable,
    args: ["--no-sandbox", "--disable-gpu", "--disable-software-rasterizer", "--no-zygote"],
  });
}
