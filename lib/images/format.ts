/** What images are accepted as, in the order of how often they come. */
export type Format = "jpeg" | "png" | "webp" | "avif" | "gif";

const png = "\x89PNG\r\n\x1a\n";

/** The format of an image by its first bytes, whatever it is called; undefined for all that is not accepted. */
export function formatOf(bytes: Buffer): Format | undefined {
  const text = (start: number, end: number) => bytes.toString("latin1", start, end);
  if (text(0, 3) === "\xff\xd8\xff") return "jpeg";
  if (text(0, 8) === png) return "png";
  if (text(0, 4) === "RIFF" && text(8, 12) === "WEBP") return "webp";
  if (text(4, 8) === "ftyp" && brandsOf(bytes).includes("avif")) return "avif";
  if (/^GIF8[79]a$/.test(text(0, 6))) return "gif";
  return undefined;
}

/** What the file type box says the file can be read as (ISO/IEC 14496-12): one brand, a version, more brands. */
function brandsOf(bytes: Buffer): string[] {
  const box = bytes.subarray(0, Math.min(bytes.readUInt32BE(0), ftypBytesMax));
  const brands = box.toString("latin1", 8).match(/.{4}/gs) ?? [];
  return brands.filter((_, place) => place !== 1);
}

const ftypBytesMax = 256;
