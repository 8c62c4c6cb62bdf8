import { signOut } from "../lib/contract/sign-in.ts";
import { serveSignOut } from "../lib/sign-in/sign-out.ts";

export const handler = serveSignOut(signOut);
