import { setFlagsFromString } from "node:v8";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { base64 } from "../../../infra/api/openapi/patterns.ts";
import { ContractError } from "../../../lib/http/response.ts";
import { base64LengthMax, base64Of } from "../../../lib/images/source.ts";

// As in a process that has compiled many patterns; set before the first one of the tested file is.
setFlagsFromString("--no-regexp-optimization");
afterAll(() => setFlagsFromString("--regexp-optimization"));

const letters = Buffer.from("An image, or not").toString("base64");

const refusal = (image: string) => {
  try {
    return base64Of(image);
  } catch (error) {
    return error;
  }
};

describe("base64Of", () => {
  it.each([
    { what: "bare", image: letters },
    { what: "with the prefix", image: `data:image/png;base64,${letters}` },
    { what: "with a prefix in capitals", image: `DATA:image/JPEG;charset=utf-8;BASE64,${letters}` },
    { what: "with a prefix that says nothing", image: `data:;base64,${letters}` },
    { what: "with a blank in the prefix", image: `data:image/jpeg; base64,${letters}` },
    { what: "broken into lines", image: ` ${letters.slice(0, 8)}\r\n${letters.slice(8)}\n` },
  ])("reads it $what", ({ image }) => {
    expect(base64Of(image)).toBe(letters);
  });

  it("accepts the URL-safe alphabet, and no padding", () => {
    const bytes = Buffer.from([251, 255, 254, 1]);

    expect(Buffer.from(base64Of(bytes.toString("base64url")), "base64")).toEqual(bytes);
  });

  it.each([
    "http://169.254.169.254/latest/meta-data",
    "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>",
    "data:image/png;base64,",
    `data:text/plain;x=${"y".repeat(300)};base64,${letters}`,
    "   ",
    // As a form has it that was decoded twice.
    `data:image/png;base64,${"AB+D".replace("+", " ")}`,
    `${letters.slice(0, 8)} ${letters.slice(8)}`,
    `${letters} `,
    "====",
    "abcde",
    `${letters}=====`,
    `${letters}\0`,
  ])("refuses %s as if it were missing", (image) => {
    expect(refusal(image)).toMatchObject({ status: 400, message: "Required parameters missing" });
  });

  it("accepts exactly what matches the document's pattern, unless a single letter is left over", () => {
    const parts = "data:|DATA:image/png|;base64|; base64|,|A|b+/|c_-|=| |\n|\v|\u00a0|!|ÿ".split("|");
    const pattern = new RegExp(base64, "u");
    const isWhole = (image: string) => image.replace(/^.*,/s, "").replaceAll(/[=\s]/g, "").length % 4 !== 1;

    fc.assert(
      fc.property(fc.array(fc.constantFrom(...parts), { maxLength: 9 }), (chosen) => {
        const image = chosen.join("");
        expect(typeof refusal(image) === "string").toBe(pattern.test(image) && isWhole(image));
      }),
      { numRuns: 5_000 },
    );
  });

  it("rejects a too long text with the parameter's name, and accepts the maximum length", () => {
    expect(refusal("A".repeat(base64LengthMax + 1))).toMatchObject({
      status: 400,
      message: "Invalid parameter: image",
    });
    expect(base64Of("A".repeat(base64LengthMax))).toHaveLength(base64LengthMax);
  });

  it("does not backtrack for any text", () => {
    // Backtracking over so long a text would last until this test is timed out.
    for (const filler of [" ", "=", "A", "A ", "\n"])
      expect(refusal(`${filler.repeat(base64LengthMax / filler.length - 1)}!`)).toBeInstanceOf(ContractError);
  });
});
