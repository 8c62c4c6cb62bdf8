import { startSignIn } from "../../lib/contract/sign-in.ts";
import { begin } from "../../lib/sign-in/begin.ts";
import { serveNavigation } from "../../lib/sign-in/navigation.ts";

export const handler = serveNavigation(startSignIn, begin);
