import type { Declaration } from "../../../lib/contract/declare.ts";
import { endpoints as allEndpoints } from "../../../lib/contract/endpoints.ts";
import { apiDocument } from "../../api/document.ts";

interface LocalStage {
  /** Origins of pages that may call administrative endpoints. */
  readonly allowedOrigins?: readonly string[];
  /** Without uploads the routes of the file service return 503. */
  readonly uploads?: boolean;
  /** With an edge every method but preflights needs an API key. */
  readonly edge?: boolean;
  /** Without sign-in its routes return 503. */
  readonly signIn?: boolean;
  readonly endpoints?: readonly Declaration[];
}

/** The API document of a stage on this machine, where a function's name has no prefix. */
export const localDocument = ({
  allowedOrigins = [],
  uploads = false,
  signIn = false,
  edge = false,
  endpoints = allEndpoints,
}: LocalStage = {}) =>
  apiDocument({
    title: "colophon-local",
    endpoints,
    // As long as the functions that stream (functions.ts).
    settings: {
      allowedOrigins: [...allowedOrigins],
      uploads,
      signIn,
      edge: edge || undefined,
      streams: { secondsMax: 900 },
    },
    partition: "aws",
    region: "eu-central-1",
    functionArnOf: (name) => `arn:aws:lambda:eu-central-1:123456789012:function:${name}`,
    invokerArn: "arn:aws:iam::123456789012:role/colophon-local",
  });
