import type { APIGatewayProxyEvent } from "aws-lambda";
import { strictHandling } from "../contract/headers.ts";
import { headerOf } from "./headers.ts";
import type { Hook, Middleware } from "./response.ts";

/** Whether the client prefers strict handling (RFC 7240, 4.4). Of a preference that comes twice, the first counts. */
export function prefersStrict(event: APIGatewayProxyEvent): boolean {
  const preferences = (headerOf(event, "prefer") ?? "").toLowerCase().split(",");
  const handling = preferences.map((each) => each.replace(/;.*/s, "").replace(/[\s"]/g, "")).find(isHandling);
  return handling === strictHandling;
}

const isHandling = (preference: string) => preference.startsWith("handling=");

const confirm: Hook = ({ event, response }) => {
  if (response && prefersStrict(event)) response.headers["Preference-Applied"] = strictHandling;
};

/** Tells clients that their request was handled strictly. */
export const confirmPreference: Middleware = { after: confirm, onError: confirm };
