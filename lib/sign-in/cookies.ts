import { isIP } from "node:net";
import type { APIGatewayProxyEvent } from "aws-lambda";
import { type SetCookie, stringifySetCookie } from "cookie";
import { cookiesOf } from "../http/session.ts";
import { digestOf } from "../http/token.ts";
import { apiAddressOf, isSecure } from "./addresses.ts";

/** What a browser keeps of an attempt, under a name that its state gives. */
interface AttemptCookie {
  readonly state: string;
  readonly cookie: string;
}

/** How long an attempt may take, including the provider's part. */
export const attemptSeconds = 600;

/** Browsers let no other host, and no page without https, set a cookie with this prefix. */
const attemptPrefix = (event: APIGatewayProxyEvent) => (isSecure(event) ? "__Host-signIn-" : "signIn-");

/** Each window has an attempt of its own, which the callback finds by its state. */
const attemptName = (event: APIGatewayProxyEvent, state: string) => attemptPrefix(event) + digestOf(state).slice(0, 12);

const isAttemptName = (event: APIGatewayProxyEvent, name: string) =>
  name.startsWith(attemptPrefix(event)) && /^[\da-f]{12}$/.test(name.slice(attemptPrefix(event).length));

/** API Gateway accepts 10,240 bytes of headers; an attempt has 200 to 2,200. */
const attemptBytesMax = 4_600;

export const attemptCookieIn = (event: APIGatewayProxyEvent, state: string): string =>
  cookiesOf(event).find(([name]) => name === attemptName(event, state))?.[1] ?? "";

/** More than a browser can have. API Gateway returns at most 10,240 bytes of headers. */
const excessMax = 30;

/** Sets the cookie of an attempt, and deletes the oldest others if they do not fit into a request. */
export function keepAttempt(event: APIGatewayProxyEvent, { state, cookie }: AttemptCookie): string[] {
  const others = cookiesOf(event).filter(([name]) => isAttemptName(event, name));
  const excess = others.filter((_, index) => [cookie, ...others.slice(index)].flat().join("").length > attemptBytesMax);
  return [
    ...excess.slice(0, excessMax).map(([name]) => attemptCookie(event, name, "", 0)),
    attemptCookie(event, attemptName(event, state), cookie, attemptSeconds),
  ];
}

export const forgetAttempt = (event: APIGatewayProxyEvent, { state }: Pick<AttemptCookie, "state">): string =>
  attemptCookie(event, attemptName(event, state), "", 0);

/** Lax, because the provider is another site. */
const attemptCookie = (event: APIGatewayProxyEvent, name: string, value: string, maxAge: number): string =>
  setCookie(event, { name, value, maxAge, sameSite: "lax" });

/** When browsers send the session's cookie, by the stage's setting. */
const sameSite = (["strict", "none"] as const).find((each) => each === process.env.SIGN_IN_SAME_SITE) ?? "lax";
const cookieDomain = process.env.SIGN_IN_COOKIE_DOMAIN;

/** Sets the session's cookie, and first deletes those that the stage has set under another `cookieDomain`. */
export const sessionCookies = (event: APIGatewayProxyEvent, value: string, maxAge: number): string[] => [
  ...otherDomains(event).map((domain) => sessionCookie(event, "", 0, domain)),
  sessionCookie(event, value, maxAge, cookieDomain),
];

export const forgetSession = (event: APIGatewayProxyEvent): string[] => sessionCookies(event, "", 0);

/** Every other domain that the cookie may have. Browsers ignore a cookie for a public suffix such as `co.uk`. */
function otherDomains(event: APIGatewayProxyEvent): (string | undefined)[] {
  const { hostname } = new URL(apiAddressOf(event));
  const labels = isIP(hostname) ? [] : hostname.split(".");
  const domains = labels.map((_, index) => labels.slice(index).join(".")).slice(0, -1);
  return [undefined, ...domains].filter((each) => each !== cookieDomain);
}

const sessionCookie = (event: APIGatewayProxyEvent, value: string, maxAge: number, domain: string | undefined) =>
  setCookie(event, { name: "refreshToken", value, maxAge, sameSite, ...(domain ? { domain } : {}) });

const setCookie = (event: APIGatewayProxyEvent, cookie: SetCookie): string =>
  stringifySetCookie({ path: "/", httpOnly: true, secure: isSecure(event), ...cookie });
