/** The accepted formats, the most frequent first. */
export type Format = "jpeg" | "png" | "webp" | "avif" | "gif";

const png = "\x89PNG\r\n\x1a\n";

/** The format of an image by its first bytes; undefined if it is not accepted. */
export function formatOf(bytes: Buffer): Format | undefined {
  const text = (start: number, end: number) => bytes.toString("latin1", start, end);
  if (text(0, 3) === "\xff\xd8\xff") return "jpeg";
  if (text(0, 8) === png) return "png";
  if (text(0, 4) === "RIFF" && text(8, 12) === "WEBP") return "webp";
  if (text(4, 8) === "ftyp" && brandsOf(bytes).includes("avif")) return "avif";
  if (/^GIF8[79]a$/.test(text(0, 6))) return "gif";
  return undefined;
}

/** The brands in the file type box (ISO/IEC 14496-12), which holds one brand, a version and more brands. */
function brandsOf(bytes: Buffer): string[] {
  const box = bytes.subarray(0, Math.min(bytes.readUInt32BE(0), ftypBytesMax));
  const brands = box.toString("latin1", 8).match(/.{4}/gs) ?? [];
  return brands.filter((_, index) => index !== 1);
}

const ftypBytesMax = 256;
