import type { APIGatewayProxyEvent } from "aws-lambda";
import { finishSignIn, startSignIn } from "../contract/sign-in.ts";
import { headerOf } from "../http/headers.ts";

/** The page where people arrive who have signed in. */
const panel = process.env.SIGN_IN_PANEL ?? "";

/** The address of the API, on a stage whose browsers use another one than API Gateway knows: the edge's. */
const apiAddress = process.env.SIGN_IN_API_ADDRESS;

/** The API's address, as this request's browser has it: under API Gateway's own domain with the stage, `/v1`. */
export function apiAddressOf(event: APIGatewayProxyEvent): string {
  if (apiAddress) return apiAddress;
  const { domainName = "", path = "" } = event.requestContext;
  const scheme = headerOf(event, "x-forwarded-proto") === "http" ? "http" : "https";
  return `${scheme}://${domainName}${path.endsWith(event.path) ? path.slice(0, -event.path.length) : ""}`;
}

/** Whether browsers reach the API by https, so that its cookies can be `Secure`: everywhere but on one machine. */
export const isSecure = (event: APIGatewayProxyEvent): boolean => apiAddressOf(event).startsWith("https:");

/** Where the provider sends browsers back to. It knows this very address. */
export const callbackOf = (event: APIGatewayProxyEvent): string => apiAddressOf(event) + finishSignIn.path;

/** Where an attempt begins that comes back to this page of the panel. */
export const beginningOf = (event: APIGatewayProxyEvent, to: string): string =>
  `${apiAddressOf(event)}${startSignIn.path}${to ? `?${new URLSearchParams({ to })}` : ""}`;

/** A page of the panel, by its normal path on the panel's origin; without one the panel itself. */
export const pageOfPanel = (to: string): string => (to ? new URL(panel).origin + to : panel);
