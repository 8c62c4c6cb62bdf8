import sharp, { type Sharp } from "sharp";
import { isJpeg, markersOf, scansMax, withEnd } from "./jpeg.ts";

// Each request has another image, so a cache would only waste memory.
sharp.cache(false);
// With many threads glibc's allocator fragments memory (sharp, "Installation"), and there is one image at a time.
sharp.concurrency(1);
// The accepted formats, by content: libvips may load no other one, SVG above all. Of HEIF only AVIF is accepted (isAvif).
sharp.block({ operation: ["VipsForeignLoad"] });
sharp.unblock({
  operation: [
    "VipsForeignLoadJpegBuffer",
    "VipsForeignLoadPngBuffer",
    "VipsForeignLoadWebpBuffer",
    "VipsForeignLoadHeifBuffer",
    "VipsForeignLoadNsgifBuffer",
  ],
});

/** Enough for a camera. A few bytes of input may decode to many more pixels. */
const inputPixelsMax = 50_000_000;
/** Each line costs time, however short it is: libvips takes ten seconds for 50,000,000 lines of one pixel. */
const sidePixelsMax = 16_384;
/** AVIF takes the longest by far, and ignores `secondsMax`: its decoder gives the whole image at once. */
const heifPixelsMax = 16_000_000;
const secondsMax = 10;

/**
 * Opens an image from a client, within limits. Only the header is read here.
 * @throws when the image cannot be read, or is too large
 */
export async function openImage(bytes: Buffer): Promise<Sharp> {
  const { content, failOn } = isJpeg(bytes)
    ? readableJpeg(bytes)
    : { content: asImage(bytes), failOn: "error" as const };
  const image = sharp(content, { limitInputPixels: inputPixelsMax, failOn, sequentialRead: true, pages: 1 });
  const { format, width, height } = await image.metadata();
  if (format === "heif" && !isAvif(bytes)) throw new TypeError("The image is HEIF, but no AVIF");
  if (format === "heif" && width * height > heifPixelsMax) {
    throw new RangeError(`The AVIF has ${width} x ${height} pixels: at most ${heifPixelsMax}`);
  }
  if (Math.max(width, height) > sidePixelsMax) {
    throw new RangeError(`The image has ${width} x ${height} pixels: a side has at most ${sidePixelsMax}`);
  }
  return image.timeout({ seconds: secondsMax });
}

/**
 * A JPEG that lacks only its end gets one. libvips would then accept one that breaks off within the picture, too, so any
 * warning is an error.
 */
function readableJpeg(bytes: Buffer) {
  const { scans, hasEnd } = markersOf(bytes);
  if (scans > scansMax) throw new RangeError(`The JPEG has ${scans} scans: at most ${scansMax}`);
  return hasEnd
    ? ({ content: bytes, failOn: "error" } as const)
    : ({ content: withEnd(bytes), failOn: "warning" } as const);
}

/** libvips reads the still picture of an animated AVIF, its first frame, only if the file is called AVIF in the first place. */
function asImage(bytes: Buffer): Buffer {
  if (bytes.toString("latin1", 4, 12) !== "ftypavis" || !isAvif(bytes)) return bytes;
  const image = Buffer.from(bytes);
  image.write("avif", 8, "latin1");
  return image;
}

/** Whether the first box names the brand. libvips knows other kinds of HEIF, such as HEIC and masks without compression. */
const isAvif = (bytes: Buffer) => bytes.subarray(0, bytes.readUInt32BE(0)).includes("avif");
