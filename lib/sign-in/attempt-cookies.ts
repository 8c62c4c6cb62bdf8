import type { APIGatewayProxyEvent } from "aws-lambda";
import { stringifySetCookie } from "cookie";
import { cookiesOf } from "../http/session.ts";
import { digestOf } from "../http/token.ts";
import { isSecure } from "./addresses.ts";
import { type Attempt, attemptSeconds } from "./attempt.ts";

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
export function keepAttempt(event: APIGatewayProxyEvent, { state, cookie }: Attempt): string[] {
  const others = cookiesOf(event).filter(([name]) => isAttemptName(event, name));
  const excess = others.filter((_, index) => [cookie, ...others.slice(index)].flat().join("").length > attemptBytesMax);
  return [
    ...excess.slice(0, excessMax).map(([name]) => attemptCookie(event, name, "", 0)),
    attemptCookie(event, attemptName(event, state), cookie, attemptSeconds),
  ];
}

export const forgetAttempt = (event: APIGatewayProxyEvent, { state }: Attempt): string =>
  attemptCookie(event, attemptName(event, state), "", 0);

/** Lax, because the provider is another site. */
const attemptCookie = (event: APIGatewayProxyEvent, name: string, value: string, maxAge: number): string =>
  stringifySetCookie({
    name,
    value,
    maxAge,
    path: "/",
    httpOnly: true,
    secure: isSecure(event),
    sameSite: "lax",
  });
