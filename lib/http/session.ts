import type { APIGatewayProxyEvent } from "aws-lambda";
import { parseCookie } from "cookie";
import type { Declaration } from "../contract/declare.ts";
import type { Permission } from "../contract/permissions.ts";
import type { Guard } from "../database/guard.ts";
import { digestOf } from "../token.ts";
import { ContractError } from "./errors.ts";
import { headerOf } from "./headers.ts";
import { allowedOrigins } from "./origins.ts";

/** What the statements of an endpoint check: nothing where the endpoint is public. */
export function guardOf(
  declaration: Declaration & { readonly permission: Permission },
  event: APIGatewayProxyEvent,
): Guard;
export function guardOf(declaration: Declaration, event: APIGatewayProxyEvent): Guard | undefined;
export function guardOf(declaration: Declaration, event: APIGatewayProxyEvent): Guard | undefined {
  const { permission, path } = declaration;
  if (!permission) return undefined;
  // Under /admin-users/ a caller who has been deleted is a user not found, like the one they ask for.
  const userMissing = path.startsWith("/admin-users/") ? 404 : 401;
  return { digest: sessionDigest(event, declaration), permission, userMissing };
}

/** Tokens are opaque random values; anything longer is not one of ours. */
const tokenLengthMax = 512;

/**
 * The SHA-256 of the refresh token, hexadecimal, from the cookie `refreshToken` and from nowhere else.
 * @throws {ContractError} 401 without the cookie; 403 when a page of a foreign origin makes the browser send it
 */
function sessionDigest(event: APIGatewayProxyEvent, { method, locks }: Declaration): string {
  const token = parseCookie(cookiesOf(event)).refreshToken;
  if (!token || token.length > tokenLengthMax) throw new ContractError(401);
  if ((method !== "GET" || locks) && isForeign(event)) throw new ContractError(403);
  return digestOf(token);
}

/** API Gateway may hand over cookies one by one; the last of them alone is then among the plain headers. */
function cookiesOf(event: APIGatewayProxyEvent): string {
  const each = Object.entries(event.multiValueHeaders ?? {}).filter(([name]) => name.toLowerCase() === "cookie");
  const values = each.flatMap(([, all]) => all ?? []);
  return values.length > 0 ? values.join("; ") : (headerOf(event, "cookie") ?? "");
}

/** Browsers name the origin of a page in every request that changes something; other clients name none. */
function isForeign(event: APIGatewayProxyEvent): boolean {
  const origin = headerOf(event, "origin");
  if (origin !== undefined) return !allowedOrigins.includes(origin);
  return ["cross-site", "same-site"].includes(headerOf(event, "sec-fetch-site") ?? "");
}
