import { generateKeyPairSync, randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import { finishSignIn } from "../../../lib/contract/sign-in.ts";
import type { PageHandler } from "../../aws-local/api-gateway/server.ts";
import { signInClientId } from "../stage/functions.ts";

/** A user who can sign in by one click. */
export interface ProviderUser {
  /** The subject of the ID token. */
  readonly name: string;
  readonly email: string;
  /** What they may do. */
  readonly description: string;
}

export interface ProviderOptions {
  /** The server that it is on, under a path. */
  readonly url: string;
  /** Of the service, its only client. */
  readonly clientSecret: string;
  readonly users: readonly ProviderUser[];
}

/** Where pages are among those of the local server. */
export const providerPath = "/provider";

/**
 * A provider of OpenID Connect for this machine (oidc-provider), without passwords: people choose who they are.
 * It is loaded before the service opens: functions do not wait long for a provider.
 */
export async function providerPages(options: ProviderOptions): Promise<PageHandler> {
  const respond = await open(options);
  return (request, response) => (request.url?.startsWith(`${providerPath}/`) ? respond(request, response) : false);
}

async function open(options: ProviderOptions): Promise<PageHandler> {
  const { errors, Provider } = await import("oidc-provider");
  const { createMemoryAdapter } = await import("oidc-provider/lib/adapters/memory_adapter.js");
  const { url, clientSecret, users } = options;
  // Browsers are sent back to no other address.
  const hosts = new Set([url, url.replace("localhost", "127.0.0.1")]);
  const configuration = {
    // The default one, which would warn that it forgets everything when the process ends.
    adapter: createMemoryAdapter(),
    clients: [
      {
        client_id: signInClientId,
        client_secret: clientSecret,
        redirect_uris: [...hosts].map((host) => host + finishSignIn.path),
        id_token_signed_response_alg: "ES256",
      },
    ],
    jwks: { keys: [{ ...newKey(), use: "sig" }] },
    cookies: { keys: [randomBytes(32).toString("base64url")] },
    claims: { openid: ["sub"], email: ["email", "email_verified"] },
    conformIdTokenClaims: false,
    ttl: { AccessToken: 60, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `${providerPath}/choose/${uid}` },
    findAccount: (_: unknown, id: string) => accountOf(users, id),
    // All that the service asks for, so people need not consent.
    async loadExistingGrant({ oidc }: { oidc: { session?: { accountId?: string } } }) {
      const grant = new provider.Grant({ clientId: signInClientId, accountId: oidc.session?.accountId ?? "" });
      grant.addOIDCScope("openid email");
      await grant.save();
      return grant;
    },
  };
  const provider = new Provider(url + providerPath, configuration);
  const respond = provider.callback();
  return async (request, response) => {
    const { url = "", headers } = request;
    // A developer may want to be another user next time, so the provider keeps no session.
    headers.cookie = headers.cookie?.replace(/(?:^|; )_session(?:\.sig)?=[^;]*/g, "");
    const [, name] = /^\/provider\/choose\/[\w-]+\/(\w+)$/.exec(url) ?? [];
    try {
      if (request.method === "POST" && name !== undefined) {
        await provider.interactionFinished(request, response, { login: { accountId: name, remember: false } });
      } else if (url.startsWith(`${providerPath}/choose/`)) {
        await provider.interactionDetails(request, response);
        sendChoice(response, url, users);
      } else {
        // As express does for what is mounted, so that the provider knows its own addresses.
        Object.assign(request, { originalUrl: url, url: url.slice(providerPath.length) });
        await respond(request, response);
      }
    } catch (error) {
      if (!(error instanceof errors.SessionNotFound)) throw error;
      sendPage(response, 400, "You have chosen already", made);
    }
    return true;
  };
}

const newKey = () => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" });

function accountOf(users: readonly ProviderUser[], id: string) {
  const user = users.find(({ name }) => name === id);
  return user && { accountId: id, claims: () => ({ sub: id, email: user.email, email_verified: true }) };
}

function sendChoice(response: ServerResponse, url: string, users: readonly ProviderUser[]): void {
  const choices = users.map(
    ({ name, description }) =>
      `<form method="post" action="${url}/${name}"><button><b>${name}</b><br>${description}</button></form>`,
  );
  const note = "<p>This stands for the provider of a deployed stage, without passwords.</p>";
  sendPage(response, 200, "Who are you?", [...choices, note].join("\n"));
}

/** Of a browser that has gone back to a choice that was made. */
const made = `<p>Or ten minutes have passed since, or the service has been started again.</p>
<p><a href="/sign-in">Choose again</a></p>`;

function sendPage(response: ServerResponse, status: number, title: string, content: string): void {
  response.writeHead(status, {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  });
  response.end(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sign in on this machine</title>
<style>
:root { color-scheme: light dark; background: Canvas }
body { font: 1.1rem/1.5 system-ui, sans-serif; max-width: 24rem; margin: 15vh auto; padding: 0 1rem }
button { font: inherit; text-align: left; width: 100%; padding: .5rem 1rem; margin: .3rem 0; cursor: pointer }
</style>
<main>
<h1>${title}</h1>
${content}
</main>
</html>
`);
}
