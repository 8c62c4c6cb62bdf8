import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Scalar's script, the only one that the page loads. `@scalar/api-reference` has it, too, among 270 packages; the plugin
 * for Fastify is the one that comes with the script and few others. From 1.62.1 on it has the script inside its code.
 */
export const scalarFile = join(
  dirname(fileURLToPath(import.meta.resolve("@scalar/fastify-api-reference"))),
  "js/standalone.js",
);

export interface ReferenceOptions {
  /** The path of `openapi.json` and `scalar.js`, with a slash at its end. Empty if they are beside the page. */
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
<style>${style(signIn !== undefined)}</style>
</head>
<body>${signIn ? control : ""}
<noscript><main>This page needs JavaScript.</main></noscript>
<div id="reference"></div>
<script src="${base}scalar.js"></script>
<script>${script}</script>
</body>
</html>
`;
}

const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** In the menu beside each operation, the client's call comes after a few that Scalar writes. */
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
  hiddenClients: Object.fromEntries("${hiddenLanguages}".split(" ").map((language) => [language, true])),
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
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

/**
 * Scalar's own fields for a token are hidden: a browser sends the cookie that it has, and scripts cannot send another.
 * Who is signed in stays in sight while a request is being tried. Some of Scalar's colours have less contrast than people
 * need (WCAG 1.4.3). Its tables break words to fit; these scroll instead.
 */
const style = (hasHeader: boolean) => `
body { margin: 0 }
.scalar-reference-intro-auth, [selectedsecurityschemes] { display: none !important }
:root { --scalar-custom-header-height: ${hasHeader ? 44 : 0}px }
.light-mode {
  --scalar-color-2: #666; --scalar-color-3: #666;
  --scalar-color-blue: #0067a8; --scalar-color-green: #00754a; --scalar-color-red: #c80000;
  --scalar-color-orange: #a83e00
}
.dark-mode { --scalar-color-3: #8f8f8f; --scalar-color-red: #ff6060 }
.caller {
  position: sticky; top: 0; z-index: 100000; box-sizing: border-box; height: 44px; padding: 0 24px;
  width: calc(100% - 56px); /* beside the button that closes a request, which is above the bar behind */
  display: flex; gap: 10px; align-items: center; font: 14px system-ui, sans-serif;
  color: var(--scalar-color-1, #1b1b1b); background: var(--scalar-background-1, #fff);
}
.caller button { font: inherit; padding: 3px 6px }
body:has(.caller)::before {
  content: ""; position: fixed; z-index: 2; inset: 0 0 auto; height: 44px; background: var(--scalar-background-1, #fff);
}
.caller, .caller button { white-space: nowrap }
.caller b { overflow: hidden; text-overflow: ellipsis }
.introduction-section .section-column { min-width: 0 }
@media (max-width: 600px) { .caller { padding: 0 12px; gap: 6px } }
@media (min-width: 1001px) {
  .introduction-section .section-column:first-child { flex: 1 }
  .introduction-section .section-column:last-child { flex: 0 0 320px }
}
#reference .t-doc__header .whitespace-nowrap { min-width: 0; overflow: hidden; text-overflow: ellipsis }
#reference .markdown table { display: block; overflow-x: auto }
#reference .markdown table :is(th, td) { min-width: 5em; word-break: normal; overflow-wrap: normal }
#reference .markdown table :is(th, td) code { white-space: nowrap }
`;

const control = `
<header class="caller">Requests are sent as <b id="name">…</b> <button></button></header>`;
