import { commonErrors, invalidParameter } from "../contract/errors.ts";
import type { Fault } from "../contract/faults.ts";
import { invalidParameters } from "../http/invalid-parameters.ts";
import { ContractError } from "../http/response.ts";

/** Lambda accepts events of 6 MiB, headers included. So much Base64 is an image of 4.5 MB. */
export const base64LengthMax = 6_000_000;

/**
 * The Base64 text of an image, without the prefix of a data URL. It may be broken into lines (RFC 2045), but has no
 * blanks: a form that was decoded twice has them where `+` was, and another picture would come of it. It checks only the letters and decodes nothing; the
 * type in the prefix is ignored. No pattern repeats over the text's length: each repetition takes V8's memory for
 * backtracking, and too many are a `RangeError`.
 * @throws {ContractError} 400 for anything else, a URL above all
 */
export function base64Of(image: string): string {
  if (image.length > base64LengthMax)
    throw invalidImage({ reason: "long", details: { max: base64LengthMax } }, invalidParameter("image"));
  const url = image.slice(Math.max(image.search(/[^\t\n\f\r ]/), 0));
  const text = url.replace(/^data:[^,]{0,150};\s?base64,/i, "").replaceAll(/[\t\n\f\r]/g, "");
  const letters = text.replace(/={1,2}$/, "");
  if (letters === "" || letters.length % 4 === 1 || /[^A-Za-z0-9+/_-]/.test(letters))
    throw invalidImage({ reason: "format" });
  return text;
}

const invalidImage = (fault: Omit<Fault, "name">, message: string = commonErrors[400]) =>
  new ContractError(400, message, invalidParameters([{ name: "image", ...fault }]));
