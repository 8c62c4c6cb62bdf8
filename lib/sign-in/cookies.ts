import type { APIGatewayProxyEvent } from "aws-lambda";
import { stringifySetCookie } from "cookie";
import { cookieOf } from "../http/session.ts";
import { isSecure } from "./addresses.ts";

type SameSite = "lax" | "strict" | "none";

/** When browsers send the session's cookie; the stage's setting. */
const sameSite: SameSite =
  (["strict", "none"] as const).find((each) => each === process.env.SIGN_IN_SAME_SITE) ?? "lax";
const domain = process.env.SIGN_IN_COOKIE_DOMAIN;

/** No other host can set a cookie with this prefix for the API, and no page that came without encryption. */
const attemptName = (event: APIGatewayProxyEvent) => (isSecure(event) ? "__Host-signIn" : "signIn");

export const attemptCookieIn = (event: APIGatewayProxyEvent): string => cookieOf(event, attemptName(event)) ?? "";

/** Lax, since the browser comes back from another site. */
export const attemptCookie = (event: APIGatewayProxyEvent, value: string, maxAge: number): string =>
  stringifySetCookie({
    name: attemptName(event),
    value,
    maxAge,
    path: "/",
    httpOnly: true,
    secure: isSecure(event),
    sameSite: "lax",
  });

export const sessionCookie = (event: APIGatewayProxyEvent, value: string, maxAge: number): string =>
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
