import type { APIGatewayProxyEvent } from "aws-lambda";
import { parseCookie } from "cookie";
import { type Declaration, needsCaller } from "../contract/declare.ts";
import type { Permission } from "../contract/permissions.ts";
import type { Guard } from "../data-api/guard.ts";
import { headerOf } from "./headers.ts";
import { allowedOrigins, isAmong } from "./origins.ts";
import { ContractError } from "./response.ts";
import { digestOf } from "./token.ts";

/** What the statements of an endpoint check; undefined if it needs no caller. */
export function guardOf<D extends Declaration>(
  declaration: D,
  event: APIGatewayProxyEvent,
): D extends { readonly permission: Permission } ? Required<Guard> : Guard | undefined;
export function guardOf(declaration: Declaration, event: APIGatewayProxyEvent): Guard | undefined {
  if (!needsCaller(declaration)) return undefined;
  const { permission, path } = declaration;
  // Under /admin-users/ a deleted caller gets 404, like a missing user.
  const userMissing = path.startsWith("/admin-users/") ? 404 : 401;
  return { digest: sessionDigest(event, declaration), ...(permission ? { permission } : {}), userMissing };
}

/** Longer than any token that this service issues; they are opaque random values. */
const tokenLengthMax = 512;

/**
 * The SHA-256 of the refresh token, hexadecimal. The token comes only from the cookie `refreshToken`.
 * @throws {ContractError} 401 without the cookie; 403 if a page of a foreign origin sends the request
 */
function sessionDigest(event: APIGatewayProxyEvent, { method, takesEditLock }: Declaration): string {
  const [digest] = digestsIn(event);
  if (digest === undefined) throw new ContractError(401);
  if ((method !== "GET" || takesEditLock) && isForeign(event)) throw new ContractError(403);
  return digest;
}

/**
 * The SHA-256 of each token in the request, but of what is too long to be one; the first one counts. A browser can have
 * several: for the API's host, and for domains above it.
 */
export const digestsIn = (event: APIGatewayProxyEvent): string[] => [
  ...new Set(
    cookiesOf(event)
      .filter(([name, token]) => name === "refreshToken" && token && token.length <= tokenLengthMax)
      .map(([, token = ""]) => digestOf(token)),
  ),
];

/**
 * The names and values of all cookies, as often and in the order as they come: browsers send the oldest first. API Gateway
 * may pass several Cookie headers; `headers` has only the last of them.
 */
export function cookiesOf(event: APIGatewayProxyEvent): [name: string, value: string | undefined][] {
  const headers = Object.entries(event.multiValueHeaders ?? {}).filter(([name]) => name.toLowerCase() === "cookie");
  const values = headers.flatMap(([, all]) => all ?? []);
  const pairs = (values.length > 0 ? values.join(";") : (headerOf(event, "cookie") ?? "")).split(";");
  return pairs.flatMap((pair) => Object.entries(parseCookie(pair)));
}

/** Browsers send the origin of the page with every POST and DELETE; other clients send none. */
export function isForeign(event: APIGatewayProxyEvent): boolean {
  const origin = headerOf(event, "origin");
  if (origin !== undefined) return !isAmong(allowedOrigins, origin);
  return ["cross-site", "same-site"].includes(headerOf(event, "sec-fetch-site") ?? "");
}
