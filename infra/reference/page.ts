import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { strictHandling } from "../../lib/contract/headers.ts";

/**
 * Scalar's script, the only one that the page loads. `@scalar/api-reference` has it, too, among 270 packages; the plugin
 * for Fastify is the one that comes with the script and few others. From 1.62.1 on it has the script inside its code.
 */
export const scalarFile = join(
  dirname(fileURLToPath(import.meta.resolve("@scalar/fastify-api-reference"))),
  "js/standalone.js",
);

const style = readFileSync(join(import.meta.dirname, "page.css"), "utf8");

export interface ReferenceOptions {
  /** The path of the other files, with a slash at its end. Empty if they are beside the page. */
  readonly base: string;
  /**
   * Whether people sign in and out by this page, which is on the API's origin then. Who signs in comes back to it, unless
   * there is another panel.
   */
  readonly signIn?: "here" | "at the panel" | undefined;
  /** The origin of the API, as in a Content Security Policy. */
  readonly api: string;
}

/**
 * The page that documents the whole interface, and from which requests can be sent. It states its Content Security
 * Policy itself, so that it holds on any host: nothing is loaded from other hosts, and requests go to the API alone.
 */
export function referencePage({ base, signIn, api }: ReferenceOptions): string {
  const script = `${showing(base)}${signIn ? signing(signIn) : ""}`;
  const policy = [
    "default-src 'none'",
    `script-src 'self' ${hash(script)}`,
    "style-src 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    `connect-src ${[...new Set(["'self'", api])].join(" ")}`,
    "base-uri 'none'",
  ].join("; ");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Colophon: the interface</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>${signIn ? control : ""}
<noscript><main>
<h1>Colophon: the interface</h1>
<p>Sending requests from this page needs JavaScript. Without JavaScript, read
<a href="${base}guide.md">the guide</a> (Markdown) and <a href="${base}openapi.json">the OpenAPI document</a> (JSON).
</main></noscript>
<div id="reference"></div>
<script src="${base}scalar.js"></script>
<script>${script}</script>
</body>
</html>
`;
}

const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** In the menu beside each operation, a few that Scalar writes follow the client's call. */
const hiddenLanguages =
  "c clojure csharp dart fsharp go http java kotlin node objc ocaml php powershell r ruby rust swift";

const showing = (base: string) => `
const configuration = {
  url: "${base}openapi.json",
  agent: { disabled: true },
  mcp: { disabled: true },
  telemetry: false,
  withDefaultFonts: false,
  showDeveloperTools: "never",
  hideClientButton: true,
  documentDownloadType: "json",
  generateHeadingSlug: ({ slug }) => slug,
  operationTitleSource: "path",
  onBeforeRequest: ({ requestBuilder }) => requestBuilder.headers.set("Prefer", "${strictHandling}"),
  hiddenClients: Object.fromEntries("${hiddenLanguages}".split(" ").map((language) => [language, true])),
};
const reference = Scalar.createApiReference("#reference", configuration);
`;

/** Shows who is signed in, and signs in and out. Scripts cannot read the cookie, so the page asks the API. */
const signing = (where: "here" | "at the panel") => `
const name = document.querySelector("#name");
const button = document.querySelector("button");
const showCaller = async () => {
  const response = await fetch("/session");
  const isSignedIn = response.ok;
  name.textContent = isSignedIn ? (await response.json()).user.username : "nobody";
  button.textContent = isSignedIn ? "Sign out" : "Sign in";
  button.onclick = async () => {
    if (!isSignedIn) return ${where === "here" ? 'location.assign("/sign-in?to=/docs")' : 'open("/sign-in")'};
    await fetch("/sign-out", { method: "POST" });
    await showCaller();
  };
};
showCaller();
addEventListener("focus", showCaller);
`;

const control = `
<header class="caller">Requests are sent as <b id="name">…</b> <button></button></header>`;
