import sharp from "sharp";
import { openImage } from "./sharp.ts";

/** An image as it is stored: WebP in two sizes, without metadata. */
export type Rendition = Awaited<ReturnType<typeof render>>;

const fullPixelsMax = 1_024;
const scaledPixelsMax = 256;

/**
 * Makes both sizes of an image, upright, in sRGB, and never enlarged. The input is decoded once, to the pixels of the
 * full size; both images are made from these.
 * @throws when the format is not accepted, or the image is too large or broken
 */
export async function render(bytes: Buffer) {
  const image = await openImage(bytes);
  const { data, info } = await image
    .autoOrient()
    .resize(within(fullPixelsMax))
    .toColourspace("srgb")
    .raw({ depth: "uchar" })
    .toBuffer({ resolveWithObject: true });
  // Not the whole `info`: it says `premultiplied`, which the pixels are no more.
  const { width, height, channels } = info;
  const pixels = () => sharp(data, { raw: { width, height, channels } });
  const [full, scaled] = await Promise.all([
    pixels().webp().toBuffer(),
    pixels().resize(within(scaledPixelsMax)).webp().toBuffer(),
  ]);
  return { full, scaled, size: `${width}x${height}` };
}

const within = (side: number) => ({ width: side, height: side, fit: "inside", withoutEnlargement: true }) as const;
