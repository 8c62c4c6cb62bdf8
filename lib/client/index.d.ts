import type { Calls } from "./calls.js";

export type * from "./calls.js";

/** What a call is given: what its endpoint takes, and for any call headers, and a signal that ends it. */
export type Options<Own = unknown> = Own & { headers?: HeadersInit; signal?: AbortSignal };

/** The whole record, or a merge patch with the fields that change. */
export type BodyOrPatch<Body> = { body: Body; patch?: never } | { body?: never; patch: Partial<Body> };

/** What a call resolves to: `data` if the service answers 200, or else `error`, the envelope. */
export type Result<Data, Failure, Known = unknown> = (Success<Data> & Known) | Refusal<Failure>;

interface Success<Data> {
  data: Data;
  error?: undefined;
  response: Response;
  /** The version of a record, its `ETag`. */
  version?: string;
  /** The id of the record that an add has made. */
  created?: number;
}

interface Refusal<Failure> {
  data?: undefined;
  error: Failure;
  response: Response;
  version?: undefined;
  created?: undefined;
}

export interface ClientOptions {
  /** Whether the browser sends the cookie along: `"include"` if nothing is said. */
  credentials?: RequestCredentials;
  /** Headers of every request. */
  headers?: HeadersInit;
  fetch?: (request: Request) => Promise<Response>;
}

/** The interface of Colophon, endpoint by endpoint. */
export interface Colophon extends Calls {}

/**
 * Makes a client for the service at this base URL. A call rejects only if there is no answer at all; a path parameter
 * that is empty, `.` or `..` makes it a TypeError, since no URL can hold it.
 */
export function createClient(baseUrl: string, options?: ClientOptions): Colophon;
