import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { pipeline } from "node:stream/promises";
import { documentFile } from "../openapi.ts";

const scalar = createRequire(import.meta.url)
  .resolve("@scalar/api-reference")
  .replace(/index\.js$/, "browser/standalone.js");

const tokens = ["local-administrator", "local-editor", "local-reader"];

const script = `
const choice = document.querySelector("select");
const known = document.cookie.match(/(?:^|; )refreshToken=([^;]*)/);
if (known) choice.value = known[1];
choice.addEventListener("change", () => {
  const age = choice.value ? 31536000 : 0;
  document.cookie = "refreshToken=" + choice.value + "; path=/; SameSite=Strict; max-age=" + age;
});
Scalar.createApiReference("#reference", {
  url: "/docs/openapi.json",
  agent: { disabled: true },
  mcp: { disabled: true },
  telemetry: false,
  withDefaultFonts: false,
  showDeveloperTools: "never",
  hideClientButton: true,
  documentDownloadType: "json",
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
});
`;

const style = `
body { margin: 0 }
:root { --scalar-custom-header-height: 44px }
.caller {
  position: sticky; top: 0; z-index: 10; box-sizing: border-box; height: 44px; padding: 0 24px;
  display: flex; gap: 10px; align-items: center; font: 14px system-ui, sans-serif;
  color: var(--scalar-color-1, #1b1b1b); background: var(--scalar-background-1, #fff);
  border-bottom: 1px solid var(--scalar-border-color, #ddd);
}
.caller select { font: inherit; padding: 3px 6px }
`;

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Colophon: the interface</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<label class="caller">Requests are sent as
<select>
<option value="">nobody</option>
${tokens.map((token) => `<option value="${token}">${token.replace("local-", "")}</option>`).join("\n")}
</select>
</label>
<div id="reference"></div>
<script src="/docs/scalar.js"></script>
<script>${script}</script>
</body>
</html>
`;

const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Nothing is loaded from, and nothing sent to, anywhere but this server. */
const policy = [
  "default-src 'none'",
  `script-src 'self' ${hash(script)}`,
  "style-src 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join("; ");

/** Serves the reference of the interface, where requests can be tried with the tokens of the demo users. */
export function docs(): (request: IncomingMessage, response: ServerResponse) => Promise<boolean> {
  const answers: Readonly<Record<string, (response: ServerResponse) => Promise<unknown>>> = {
    "/docs": async (response) => {
      response.writeHead(200, { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy });
      response.end(page);
    },
    "/docs/openapi.json": (response) => sendFile(response, documentFile, "application/json"),
    "/docs/scalar.js": (response) => sendFile(response, scalar, "text/javascript; charset=utf-8"),
  };
  return async ({ method, url = "" }, response) => {
    const answer = method === "GET" ? answers[url.replace(/\?.*$/s, "")] : undefined;
    await answer?.(response);
    return answer !== undefined;
  };
}

async function sendFile(response: ServerResponse, file: string, type: string): Promise<void> {
  response.writeHead(200, { "Content-Type": type, "X-Content-Type-Options": "nosniff" });
  await pipeline(createReadStream(file), response);
}
