import type { Declaration } from "../../../lib/contract/declare.ts";
import { endpoints as allEndpoints } from "../../../lib/contract/endpoints.ts";
import { apiDocument, type DocumentSettings } from "../../api/document.ts";

interface LocalStage extends Partial<DocumentSettings> {
  readonly endpoints?: readonly Declaration[];
}

/** The API document of a stage on this machine, where a function's name has no prefix. */
export const localDocument = ({ endpoints = allEndpoints, ...settings }: LocalStage = {}) =>
  apiDocument({
    title: "colophon-local",
    endpoints,
    // As long as the functions that stream (functions.ts).
    settings: { allowedOrigins: [], uploads: false, reference: "/docs", streams: { secondsMax: 900 }, ...settings },
    partition: "aws",
    region: "eu-central-1",
    functionArnOf: (name) => `arn:aws:lambda:eu-central-1:123456789012:function:${name}`,
    invokerArn: "arn:aws:iam::123456789012:role/colophon-local",
  });
