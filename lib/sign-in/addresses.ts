import type { APIGatewayProxyEvent } from "aws-lambda";
import { invalidParameter } from "../contract/errors.ts";
import { finishSignIn, startSignIn } from "../contract/sign-in.ts";
import { headerOf } from "../http/headers.ts";
import { invalidParameters } from "../http/invalid-parameters.ts";
import { ContractError } from "../http/response.ts";
import { pathOnPanel } from "./panel-path.ts";

/** The page to which users come back. */
const panel = process.env.SIGN_IN_PANEL ?? "";

/** The API's URL, on a stage whose browsers use an edge: API Gateway does not know the edge's domain. */
const apiAddress = process.env.SIGN_IN_API_ADDRESS;

/** The API's URL in this browser; on API Gateway's own domain it ends with the stage, `/v1`. */
export function apiAddressOf(event: APIGatewayProxyEvent): string {
  if (apiAddress) return apiAddress;
  const { domainName = "", path = "" } = event.requestContext;
  const scheme = headerOf(event, "x-forwarded-proto") === "http" ? "http" : "https";
  return `${scheme}://${domainName}${path.endsWith(event.path) ? path.slice(0, -event.path.length) : ""}`;
}

/** Whether browsers use https, so that cookies can be `Secure`: everywhere but on one machine. */
export const isSecure = (event: APIGatewayProxyEvent): boolean => apiAddressOf(event).startsWith("https:");

/** The URL to which the provider redirects; it is registered there. */
export const callbackOf = (event: APIGatewayProxyEvent): string => apiAddressOf(event) + finishSignIn.path;

/** The URL that begins an attempt for this page of the panel. */
export const beginningOf = (event: APIGatewayProxyEvent, to: string): string =>
  `${apiAddressOf(event)}${startSignIn.path}${to ? `?${new URLSearchParams({ to })}` : ""}`;

/** The origin of the panel. */
export const panelOrigin = (): string => new URL(panel).origin;

/** A page of the panel by its path; without a path, the panel itself. */
export const pageOfPanel = (to: string): string => (to ? panelOrigin() + to : panel);

/**
 * The path of the page that a link to `/sign-in` names.
 * @throws {ContractError} 400 for anything but a page on the panel's origin
 */
export function pageToComeBackTo(to: string): string {
  const path = pathOnPanel(to, panelOrigin());
  if (path !== undefined) return path;
  throw new ContractError(400, invalidParameter("to"), invalidParameters([{ name: "to", reason: "invalid" }]));
}
