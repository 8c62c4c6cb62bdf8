import { existsSync } from "node:fs";
import axe from "axe-core";
import { type Browser, chromium, type Locator, type Page } from "playwright-core";
import { afterAll, beforeAll } from "vitest";

const paths = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executable = paths.find((path) => existsSync(path));

/** Without a browser, tests in a browser are skipped, unless the environment requires them. */
export const hasBrowser = executable !== undefined || process.env.COLOPHON_BROWSER === "required";

/** Of what another library has written into `#reference`, only the contrast counts. */
const findIssues = `axe.run().then(({ violations }) =>
  violations
    .filter(({ impact }) => impact !== "minor")
    .flatMap(({ id, nodes }) =>
      nodes
        .filter(({ target }) => id === "color-contrast" || !document.querySelector(target[0]).closest("#reference"))
        .map(({ html }) => id + " " + html)
    )
)`;

/** The issues that axe-core finds in an open page, in light and in dark colours, without the minor ones. */
export async function accessibilityIssues(page: Page, shown: Locator): Promise<unknown[]> {
  const issues: unknown[] = [];
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    // A page is opened in light colours.
    if (colorScheme === "dark") await page.reload();
    await shown.waitFor();
    // As a script of the page it would be against the page's policy.
    await page.evaluate(axe.source);
    issues.push(await page.evaluate(findIssues));
  }
  return issues.flat();
}

/** A headless Chromium for the tests of a file, in private windows; there is none where tests in a browser are skipped. */
export function useBrowser(): () => Browser {
  let browser: Browser | undefined;
  beforeAll(async () => {
    if (hasBrowser) browser = await startBrowser();
  });
  afterAll(() => browser?.close());
  return () => browser as Browser;
}

async function startBrowser(): Promise<Browser> {
  if (executable === undefined) throw new Error("Chromium is missing: apt-get install chromium");
  return await chromium.launch({
    executablePath: executable,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-software-rasterizer",
      "--no-zygote",
      // A page that loads would collect its garbage many times.
      "--js-flags=--min-semi-space-size=64",
    ],
  });
}
