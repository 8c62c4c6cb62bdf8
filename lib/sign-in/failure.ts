import { hash } from "node:crypto";

/** How an attempt fails, and what its user reads; the texts show nothing about other users. */
const pages = {
  /** The provider refused, or no user has this identity. */
  denied: {
    status: 403,
    title: "You are not signed in",
    text: "Signing in was cancelled or refused, or this account is not known here. An administrator can give the account access. To use another account, first sign out where you have just signed in.",
  },
  /** The cookie, the callback's URL or the ID token is wrong or too old. */
  invalid: {
    status: 400,
    title: "Signing in did not work",
    text: "The attempt took longer than ten minutes, has ended before, or could not be completed. If you came back to this page, you may be signed in already.",
  },
  /** The link to sign in names another page than one of the panel. */
  elsewhere: {
    status: 400,
    title: "This link does not lead back",
    text: "The parameter “to” of the link is the page to which you come back. It must be a path such as /users?page=2, or a URL, on $panel, of at most 1,500 characters. Signing in without it leads to the panel.",
  },
  /** The provider, Secrets Manager or the database failed. */
  unavailable: {
    status: 503,
    title: "Signing in is not available",
    text: "Try again soon. If you are signed in already, you stay signed in.",
  },
} as const;

/** Its page, and the log's field `signIn`, which alarms count. */
export type Outcome = keyof typeof pages;

export class SignInFailure extends Error {
  override readonly name = "SignInFailure";
  readonly outcome: Outcome;

  /** @param reason for the log: constant words and codes, nothing from a request, a token or a user */
  constructor(outcome: Outcome, reason: string) {
    super(reason);
    this.outcome = outcome;
  }
}

const style =
  ":root{color-scheme:light dark;background:Canvas}body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem}";

/** Allows the page's own style alone: no script, no frame, no form. */
export const pagePolicy = `default-src 'none'; style-src 'sha256-${hash("sha256", style, "base64")}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** The page of a user who could not sign in. */
export function errorPage(outcome: Outcome, beginAgain: string, panelOrigin: string): { status: number; html: string } {
  const { status, title, text } = pages[outcome];
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>${style}</style>
<main>
<h1>${title}</h1>
<p>${text.replace("$panel", panelOrigin)}</p>
<p><a href="${beginAgain.replaceAll("&", "&amp;").replaceAll('"', "&quot;")}">Sign in again</a></p>
</main>
</html>
`;
  return { status, html };
}
