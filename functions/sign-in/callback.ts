import { finishSignIn } from "../../lib/contract/sign-in.ts";
import { finish } from "../../lib/sign-in/finish.ts";
import { serveNavigation } from "../../lib/sign-in/navigation.ts";

export const handler = serveNavigation(finishSignIn, finish);
