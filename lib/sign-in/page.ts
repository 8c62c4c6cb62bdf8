import { hash } from "node:crypto";
import type { Outcome } from "./failure.ts";

/** What the user reads; the texts show nothing about other users. */
const texts: Readonly<Record<Outcome, readonly [status: number, title: string, text: string]>> = {
  denied: [
    403,
    "You are not signed in",
    "Signing in was cancelled or refused, or this account is not known here. An administrator can give the account access. To use another account, first sign out where you have just signed in.",
  ],
  invalid: [
    400,
    "Signing in did not work",
    "The attempt took longer than ten minutes, has ended before, or could not be completed. If you came back to this page, you may be signed in already.",
  ],
  unavailable: [
    503,
    "Signing in is not available",
    "Try again soon. If you are signed in already, you stay signed in.",
  ],
};

const style =
  ":root{color-scheme:light dark;background:Canvas}body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem}";

/** Allows the page's own style alone: no script, no frame, no form. */
export const pagePolicy = `default-src 'none'; style-src 'sha256-${hash("sha256", style, "base64")}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** The page of a user who could not sign in. */
export function errorPage(outcome: Outcome, beginAgain: string): { status: number; html: string } {
  const [status, title, text] = texts[outcome];
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>${style}</style>
<main>
<h1>${title}</h1>
<p>${text}</p>
<p><a href="${beginAgain.replaceAll("&", "&amp;").replaceAll('"', "&quot;")}">Sign in again</a></p>
</main>
</html>
`;
  return { status, html };
}
