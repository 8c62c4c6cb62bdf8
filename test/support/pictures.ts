import { crc32, deflateSync } from "node:zlib";
import sharp from "sharp";

/** An image as a data URL. The service ignores its type. */
export const dataUrl = (bytes: Buffer, type = "image/png"): string => `data:${type};base64,${bytes.toString("base64")}`;

/** A picture of one colour, to be written in any format. */
export const plain = (background = "#336699", width = 40, height = 30) =>
  sharp({ create: { width, height, channels: background.length > 7 ? 4 : 3, background } });

/** An AVIF of one colour, whose file is small. */
export const avif = (width: number, height: number): Promise<Buffer> =>
  plain("#336699", width, height).avif({ effort: 0 }).toBuffer();

/** A JPEG with noise, so that it compresses as badly as a photograph, and with EXIF. */
export async function photograph(width: number, height: number): Promise<Buffer> {
  const noise = { type: "gaussian", mean: 128, sigma: 60 } as const;
  const grain = sharp({ create: { width: width >> 3, height: height >> 3, channels: 3, background: "#000", noise } });
  return await sharp(await grain.png().toBuffer())
    .resize(width, height, { fit: "fill" })
    .withExif({
      IFD0: { Make: "Camera", Artist: "Somebody" },
      IFD3: { GPSLatitudeRef: "N", GPSLatitude: "52/1 30/1 0/1" },
    })
    .jpeg({ quality: 92 })
    .toBuffer();
}

/** A PNG of black pixels, whose file is small. */
export function blackPng(width: number, height: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 1;
  const lines = Buffer.alloc((Math.ceil(width / 8) + 1) * height);
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(lines, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(type), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(content));
  return Buffer.concat([length, content, checksum]);
}

/** The channels of a pixel. */
export async function pixelAt(bytes: Buffer, x: number, y: number): Promise<number[]> {
  const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
  const start = (y * info.width + x) * info.channels;
  return [...data.subarray(start, start + info.channels)];
}

export const sizeOf = async (bytes: Buffer): Promise<[number, number]> => {
  const { width, height } = await sharp(bytes).metadata();
  return [width, height];
};

/** A PNG of one pixel as a data URL, where it does not matter which image it is. */
export const tinyImage =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
