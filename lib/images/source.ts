import { commonErrors, invalidParameter } from "../contract/errors.ts";
import { ContractError } from "../http/errors.ts";

/** Lambda takes events of 6 MiB; the rest is left for their headers. As an image, 4.5 MB. */
export const base64LengthMax = 6_000_000;

/**
 * The Base64 text of an image that is given with a data URL's prefix or without. Only its letters are looked at here;
 * nothing is decoded yet, and the type it claims to have means nothing.
 * @throws {ContractError} 400 for anything else, a URL above all
 */
export function base64Of(image: string): string {
  if (image.length > base64LengthMax) throw new ContractError(400, invalidParameter("image"));
  const text = withoutPrefix(image).replaceAll(/[\t\n\f\r ]+/g, "");
  const letters = text.replace(/={1,2}$/, "");
  if (letters === "" || letters.length % 4 === 1 || /[^A-Za-z0-9+/_-]/.test(letters)) throw unreadable();
  return text;
}

function withoutPrefix(image: string): string {
  const prefix = /^[\t\n\f\r ]*data:[^,]{0,150};base64,/i.exec(image)?.[0] ?? "";
  return image.slice(prefix.length);
}

const unreadable = () => new ContractError(400, commonErrors[400]);
