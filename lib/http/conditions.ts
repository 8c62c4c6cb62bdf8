import type { APIGatewayProxyEvent } from "aws-lambda";
import { invalidParameter } from "../contract/errors.ts";
import { ContractError } from "./errors.ts";
import { headerOf } from "./headers.ts";

/**
 * The key by which the client may send the same request again.
 * @throws {ContractError} 400 for anything but 1 to 255 visible ASCII characters
 */
export function idempotencyKeyOf(event: APIGatewayProxyEvent): string | undefined {
  const key = headerOf(event, "idempotency-key");
  if (key === undefined || /^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw new ContractError(400, invalidParameter("Idempotency-Key"));
}

const entityTags = /^\s*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"(?:\s*,\s*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")*\s*$/;

/**
 * The versions in `If-Match`: the record must have one of them; undefined for any. Weak tags, and tags that this
 * service never makes, match no version (RFC 9110, "If-Match").
 * @throws {ContractError} 400 for anything but a list of entity tags
 */
export function versionsOf(event: APIGatewayProxyEvent): readonly number[] | undefined {
  const header = headerOf(event, "if-match");
  if (header === undefined || header.trim() === "*") return undefined;
  if (!entityTags.test(header)) throw new ContractError(400, invalidParameter("If-Match"));
  return [...header.matchAll(/(?<!W\/)"([1-9]\d{0,14})"/g)].map(([, version]) => Number(version));
}
