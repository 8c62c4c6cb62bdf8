import { hash } from "node:crypto";
import type { Told } from "./failure.ts";

interface Text {
  readonly status: number;
  readonly title: string;
  readonly text: string;
  /** What the link to begin again says. */
  readonly again: string;
}

/** What a person may be told, in words that say nothing about other people. */
const texts: Readonly<Record<Told | "parameter" | "broken", Text>> = {
  parameter: {
    status: 400,
    title: "This link does not work",
    text: "The page that sent you here names a page to come back to that is not its own.",
    again: "Sign in",
  },
  invalid: {
    status: 400,
    title: "Signing in did not work",
    text: "It took longer than ten minutes, has ended before, or could not be completed. If you came back to this page, you may be signed in already.",
    again: "Sign in again",
  },
  denied: {
    status: 403,
    title: "You are not signed in",
    text: "Signing in was cancelled or refused.",
    again: "Sign in again",
  },
  stranger: {
    status: 403,
    title: "This account is not known here",
    text: "You have signed in, but this account has no access. Whoever looks after the users here can give it to you. To use another account, sign out of this one first, where you have just signed in.",
    again: "Sign in again",
  },
  unavailable: {
    status: 503,
    title: "Signing in is not available",
    text: "It should work again soon. Whoever is signed in already stays so.",
    again: "Try again",
  },
  broken: {
    status: 500,
    title: "Something went wrong",
    text: "The error has been recorded.",
    again: "Try again",
  },
};

const style =
  ":root{color-scheme:light dark;background:Canvas}body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem}";

/** Lets the page have its own style, and nothing else: no script, no frame, no form. */
export const pagePolicy = `default-src 'none'; style-src 'sha256-${hash("sha256", style, "base64")}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** The page that tells somebody why they are not signed in. */
export function errorPage(told: keyof typeof texts, beginAgain: string): { status: number; html: string } {
  const { status, title, text, again } = texts[told];
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>${style}</style>
<main>
<h1>${title}</h1>
<p>${text}</p>
<p><a href="${escapeHtml(beginAgain)}">${again}</a></p>
</main>
</html>
`;
  return { status, html };
}

const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escapeHtml = (text: string) => text.replace(/[&<>"]/g, (character) => escapes[character] ?? "");
