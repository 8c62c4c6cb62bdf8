import { isIP } from "node:net";
import type { APIGatewayProxyEvent } from "aws-lambda";
import { stringifySetCookie } from "cookie";
import { apiAddressOf, isSecure } from "./addresses.ts";

type SameSite = "lax" | "strict" | "none";

/** When browsers send the session's cookie, by the stage's setting. */
const sameSite: SameSite =
  (["strict", "none"] as const).find((each) => each === process.env.SIGN_IN_SAME_SITE) ?? "lax";
const cookieDomain = process.env.SIGN_IN_COOKIE_DOMAIN;

/** Sets the session's cookie, and first deletes those that the stage has set under another `cookieDomain`. */
export const sessionCookies = (event: APIGatewayProxyEvent, value: string, maxAge: number): string[] => [
  ...formerDomains(event).map((former) => sessionCookie(event, "", 0, former)),
  sessionCookie(event, value, maxAge, cookieDomain),
];

export const forgetSession = (event: APIGatewayProxyEvent): string[] => sessionCookies(event, "", 0);

/** Every other domain that the cookie may have. Browsers ignore a cookie for a public suffix such as `co.uk`. */
function formerDomains(event: APIGatewayProxyEvent): (string | undefined)[] {
  const { hostname } = new URL(apiAddressOf(event));
  const labels = isIP(hostname) ? [] : hostname.split(".");
  const domains = labels.map((_, index) => labels.slice(index).join(".")).slice(0, -1);
  return [undefined, ...domains].filter((each) => each !== cookieDomain);
}

const sessionCookie = (event: APIGatewayProxyEvent, value: string, maxAge: number, domain: string | undefined) =>
  stringifySetCookie({
    name: "refreshToken",
    value,
    maxAge,
    path: "/",
    ...(domain ? { domain } : {}),
    httpOnly: true,
    secure: isSecure(event),
    sameSite,
  });
