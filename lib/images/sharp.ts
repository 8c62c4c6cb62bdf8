import sharp, { type Sharp } from "sharp";

// Each request has another image, so a cache would only waste memory.
sharp.cache(false);
// With many threads glibc's allocator fragments memory (sharp, "Installation"), and there is one image at a time.
sharp.concurrency(1);
// libvips may not load any other format, SVG above all, even if `formatOf` is deceived.
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
  const image = sharp(bytes, { limitInputPixels: inputPixelsMax, failOn: "error", sequentialRead: true, pages: 1 });
  const { format, width, height } = await image.metadata();
  if (format === "heif" && width * height > heifPixelsMax) {
    throw new RangeError(`The AVIF has ${width} x ${height} pixels: at most ${heifPixelsMax}`);
  }
  if (Math.max(width, height) > sidePixelsMax) {
    throw new RangeError(`The image has ${width} x ${height} pixels: a side has at most ${sidePixelsMax}`);
  }
  return image.timeout({ seconds: secondsMax });
}

/** Raw pixels that `openImage` has decoded. */
export interface Pixels {
  readonly data: Buffer;
  readonly info: { readonly width: number; readonly height: number; readonly channels: 1 | 2 | 3 | 4 };
}

export const openPixels = ({ data, info: { width, height, channels } }: Pixels): Sharp =>
  sharp(data, { raw: { width, height, channels } });
