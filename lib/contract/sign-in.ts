import * as z from "zod/mini";
import { declare } from "./declare.ts";
import { noSignIn } from "./errors.ts";
import { panelPath } from "./panel-path.ts";

/* Signing in (README.md, "Beyond the interface"). */

const missing = { 503: noSignIn } as const;

export const startSignIn = declare({
  summary: "Sends the browser to the provider, where people sign in",
  method: "GET",
  path: "/sign-in",
  needsSignIn: true,
  query: { to: z.optional(panelPath) },
  response: { redirect: "The provider's page" },
  errors: missing,
});

export const finishSignIn = declare({
  summary: "Signs in whom the provider sends back, and sends the browser on to the panel",
  method: "GET",
  path: "/sign-in/callback",
  needsSignIn: true,
  response: { redirect: "The panel" },
  errors: { ...missing, 403: "Account not known here" },
});

export const signOut = declare({
  summary: "Ends the session, and forgets the cookie",
  method: "POST",
  path: "/sign-out",
  needsSignIn: true,
  response: { message: "Signed out" },
  errors: missing,
});
