import type { Client, ClientOptions } from "openapi-fetch";
import type { components, paths } from "./schema.js";

/** A record of the interface by its name: `Schema<"Contributor">`. */
export type Schema<Name extends keyof components["schemas"]> = components["schemas"][Name];

/** The interface of Colophon, endpoint by endpoint. */
export type Colophon = Client<paths, "application/json">;

/**
 * Makes a client for the service at this base URL. Parameters are encoded; a path parameter that is empty, `.` or `..`
 * throws a TypeError, since no URL can hold it. Browsers send the cookie along unless `credentials` is `"omit"`.
 */
export function createClient(baseUrl: string, options?: Omit<ClientOptions, "baseUrl" | "pathSerializer">): Colophon;
