import { describe, expect, it } from "vitest";
import { formatOf } from "../../../lib/images/format.ts";
import { plain } from "../../support/pictures.ts";

describe("formatOf", () => {
  it.each(["jpeg", "png", "webp", "avif", "gif"] as const)("recognises %s by its content", async (format) => {
    expect(formatOf(await plain().toFormat(format).toBuffer())).toBe(format);
  });

  it("recognises an AVIF with another first brand", async () => {
    const bytes = await plain().avif().toBuffer();
    bytes.write("mif1", 8, "latin1");

    expect(bytes.toString("latin1", 16, 40)).toContain("avif");
    expect(formatOf(bytes)).toBe("avif");
  });

  it.each([
    ["nothing", ""],
    ["a few bytes", "\xff\xd8"],
    ["SVG", "<svg xmlns='http://www.w3.org/2000/svg'/>"],
    ["HTML", "<!doctype html><script>alert(1)</script>"],
    ["an old GIF's look-alike", "GIF88a"],
    ["RIFF without WebP", "RIFF\x24\0\0\0WAVEfmt "],
    ["HEIC", "\0\0\0\x18ftypheic\0\0\0\0mif1heic"],
    ["brands beyond the box", "\0\0\0\x14ftypheic\0\0\0\0mif1avif"],
    ["a version that reads like a brand", "\0\0\0\x10ftypheicavif"],
  ])("knows nothing of %s", (_, text) => {
    expect(formatOf(Buffer.from(text, "latin1"))).toBeUndefined();
  });
});
