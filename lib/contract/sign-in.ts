import * as z from "zod/mini";
import { declare } from "./declare.ts";
import { noSignIn } from "./errors.ts";

/* Signing in (README.md, "Beyond the interface"). */

const missing = { 503: noSignIn } as const;

export const startSignIn = declare("GET /sign-in", {
  summary: "Sends the browser to the provider, where people sign in",
  needsSignIn: true,
  query: { to: z.optional(z.string()) },
  response: { redirect: "The provider's page" },
  errors: missing,
});

export const finishSignIn = declare("GET /sign-in/callback", {
  summary: "Signs in whom the provider sends back, and sends the browser on to the panel",
  needsSignIn: true,
  response: { redirect: "The panel" },
  errors: { ...missing, 403: "Account not known here" },
});

export const signOut = declare("POST /sign-out", {
  summary: "Ends the session, and forgets the cookie",
  needsSignIn: true,
  response: { message: "Signed out" },
  errors: missing,
});
