import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { listenToClients } from "../../infra/aws-local/http/listen.ts";
import { aLinkedUser, type Browser } from "./sign-in.ts";
import { type StackOptions, startStack } from "./stack.ts";

/** Responds to a path in another way than it should. */
export type Responder = (response: ServerResponse, request: IncomingMessage) => unknown;

export type HostileProvider = Awaited<ReturnType<typeof startHostileProvider>>;

/** A provider of OpenID Connect that signs whatever a test wants, and responds as the test wants. */
async function startHostileProvider() {
  const server = createServer((request, response) => {
    respond(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  const { url: issuer, close } = await listenToClients(server);
  let key = await newSigner();

  const json = (response: ServerResponse, body: unknown) =>
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(body));

  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? "";
    const { authorization = "" } = request.headers;
    provider.requests.push({ path, body: await text(request), authorization });
    const other = provider.responses.get(path);
    if (other) return other(response, request);
    if (path === "/.well-known/openid-configuration")
      return json(response, {
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
        response_types_supported: ["code"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["ES256"],
        ...provider.metadata,
      });
    if (path === "/keys") return json(response, { keys: [key.published] });
    if (path === "/token")
      return json(response, {
        access_token: "an access token",
        token_type: "bearer",
        id_token: await provider.sign(provider.claims),
      });
    return response.writeHead(404).end();
  };

  const provider = {
    issuer,
    /** By path: `/.well-known/openid-configuration`, `/keys`, `/token`, `/me`. */
    responses: new Map<string, Responder>(),
    requests: [] as { path: string; body: string; authorization: string }[],
    /** What its discovery document says beside the usual. */
    metadata: {},
    /** The claims of the next ID token. */
    claims: {} as JWTPayload,
    /** Makes the next ID token. */
    sign: (claims: JWTPayload): Promise<string> => key.sign(claims),
    /** From now on it signs with a new key, which may have the name of the former one, and publishes that one alone. */
    async rotate(under: "a new name" | "the same name" = "a new name") {
      key = await newSigner(under === "the same name" ? key.published.kid : undefined);
    },
    close,
  };
  return provider;
}

/** A key with its id, which signs. */
export async function newSigner(kid: string = crypto.randomUUID()) {
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
  return {
    published: { ...(await exportJWK(publicKey)), kid, alg: "ES256", use: "sig" },
    sign: (claims: JWTPayload) => new SignJWT(claims).setProtectedHeader({ alg: "ES256", kid }).sign(privateKey),
  };
}

export type HostileStack = Awaited<ReturnType<typeof startHostileStack>>;

/** A stack whose users sign in at a hostile provider. Its user Ada has the subject `ada` there. */
export async function startHostileStack(options: StackOptions = {}) {
  const provider = await startHostileProvider();
  const stack = await startStack({ ...options, signIn: provider.issuer });
  const ada = await aLinkedUser(stack, provider.issuer, "ada");
  const close = async () => {
    await stack.close();
    await provider.close();
  };
  return { provider, stack, ada, close };
}

/** What binds an attempt to the provider's response. */
export interface Binding {
  readonly state: string;
  readonly nonce: string;
}

/** The binding in the address of the provider's page. */
export const bindingIn = ({ searchParams }: URL): Binding => ({
  state: searchParams.get("state") ?? "",
  nonce: searchParams.get("nonce") ?? "",
});

/** Comes back from the provider, which has signed in Ada, unless claims or parameters differ; undefined removes one. */
export async function comeBack(
  { provider, stack }: HostileStack,
  browser: Browser,
  { state, nonce }: Binding,
  claims: object = {},
  parameters: object = {},
): Promise<Response> {
  const iat = Math.floor(Date.now() / 1000);
  provider.claims = { iss: provider.issuer, aud: "colophon", sub: "ada", nonce, iat, exp: iat + 300, ...claims };
  const query = Object.entries({ code: "a-secret-code", state, ...parameters }).filter(
    ([, value]) => value !== undefined,
  );
  return await browser.get(`${stack.url}/sign-in/callback?${new URLSearchParams(query)}`);
}
