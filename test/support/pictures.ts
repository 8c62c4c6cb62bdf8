import sharp from "sharp";

/** As the interface wants it: Base64 with a data URL's prefix, whose type nobody believes. */
export const dataUrl = (bytes: Buffer, type = "image/png"): string => `data:${type};base64,${bytes.toString("base64")}`;

export const colours = { red: "#ff0000", green: "#00ff00", blue: "#0000ff" } as const;

/** A picture of one colour. */
export const plain = (width = 40, height = 30, background = "#336699") =>
  sharp({ create: { width, height, channels: 3, background } });

/** Left half red, right half blue, with a green stripe on top: shows how it was turned. */
export async function turned(orientation: number): Promise<Buffer> {
  const half = { create: { width: 40, height: 60, channels: 3, background: colours.blue } } as const;
  const stripe = { create: { width: 80, height: 20, channels: 3, background: colours.green } } as const;
  return await sharp({ create: { width: 80, height: 60, channels: 3, background: colours.red } })
    .composite([
      { input: half, left: 40, top: 0 },
      { input: stripe, left: 0, top: 0 },
    ])
    .jpeg({ quality: 100, chromaSubsampling: "4:4:4" })
    .withMetadata({ orientation })
    .toBuffer();
}

/** A pixel as numbers. */
export async function pixelAt(bytes: Buffer, x: number, y: number): Promise<number[]> {
  const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
  const start = (y * info.width + x) * info.channels;
  return [...data.subarray(start, start + info.channels)];
}
