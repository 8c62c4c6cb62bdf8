import sharp, { type Sharp } from "sharp";

// No two requests bring the same image, so a cache would only keep memory that a Lambda pays for.
sharp.cache(false);
// The C library's allocator gives memory back badly to many threads (sharp, "Installation"); one image is enough work.
sharp.concurrency(1);
// SVG and all others stay shut even for bytes that one of these formats is mistaken for.
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

/** Of the input, whatever its few bytes unfold to: a camera's 50 megapixels. */
const inputPixelsMax = 50_000_000;
const secondsMax = 10;

/** Opens an image that somebody sent: the one place that says how far it is trusted. */
export const openImage = (bytes: Buffer): Sharp =>
  sharp(bytes, { limitInputPixels: inputPixelsMax, failOn: "error", sequentialRead: true, pages: 1 }).timeout({
    seconds: secondsMax,
  });

/** Pixels of ours, side by side, without any file format. */
export interface Pixels {
  readonly data: Buffer;
  readonly info: { readonly width: number; readonly height: number; readonly channels: 1 | 2 | 3 | 4 };
}

export const openPixels = ({ data, info: { width, height, channels } }: Pixels): Sharp =>
  sharp(data, { raw: { width, height, channels } });
