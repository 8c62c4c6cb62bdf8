import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { markersOf } from "../../../lib/images/jpeg.ts";
import { render } from "../../../lib/images/render.ts";
import { avif, blackPng, photograph, pixelAt, plain, sizeOf } from "../../support/pictures.ts";

const sizesOf = async (bytes: Buffer) => {
  const { full, scaled } = await render(bytes);
  return [await sizeOf(full), await sizeOf(scaled)];
};

describe("render: sizes", () => {
  it.each([
    { shape: "wide", input: [3000, 1500], full: [1024, 512], scaled: [256, 128] },
    { shape: "tall", input: [600, 2400], full: [256, 1024], scaled: [64, 256] },
    { shape: "between the two", input: [500, 400], full: [500, 400], scaled: [256, 205] },
    { shape: "small", input: [40, 30], full: [40, 30], scaled: [40, 30] },
    { shape: "a dot", input: [1, 1], full: [1, 1], scaled: [1, 1] },
    { shape: "a line", input: [12_000, 2], full: [1024, 1], scaled: [256, 1] },
  ])("are bounded and never larger than the input: $shape", async ({ input: [width, height], full, scaled }) => {
    expect(await sizesOf(await plain("#336699", width, height).png().toBuffer())).toEqual([full, scaled]);
  });

  it("are of the picture as it stands upright, and so are the pixels", async () => {
    const blue = await plain("#0000ff", 1000, 1000).png().toBuffer();
    const pixels = plain("#ff0000", 2000, 1000).composite([{ input: blue, left: 0, top: 0 }]);
    const lying = await pixels.jpeg().withMetadata({ orientation: 6 }).toBuffer();

    expect(await sizesOf(lying)).toEqual([
      [512, 1024],
      [128, 256],
    ]);
    const { full } = await render(lying);
    expectNear(await pixelAt(full, 100, 10), [0, 0, 255]);
    expectNear(await pixelAt(full, 100, 1000), [255, 0, 0]);
  });
});

describe("render: formats", () => {
  it.each(["jpeg", "png", "webp", "avif", "gif"] as const)("makes WebP from %s, with its colours", async (format) => {
    const { full, scaled } = await render(await plain("#cc3311", 300, 300).toFormat(format).toBuffer());

    for (const each of [full, scaled]) {
      expect(await sharp(each).metadata()).toMatchObject({ format: "webp", space: "srgb" });
      expectNear(await pixelAt(each, 100, 100), [0xcc, 0x33, 0x11]);
    }
  });

  it("knows an AVIF with another first brand", async () => {
    const bytes = await plain().avif().toBuffer();
    bytes.write("mif1", 8, "latin1");

    expect((await sharp((await render(bytes)).full).metadata()).format).toBe("webp");
  });

  it("takes a JPEG that lacks only its end, but none that breaks off in the picture", async () => {
    for (const progressive of [false, true]) {
      const bytes = await sharp(await photograph(300, 200))
        .jpeg({ progressive })
        .toBuffer();

      expect(await sizesOf(bytes.subarray(0, -2))).toEqual([
        [300, 200],
        [256, 171],
      ]);
      await expect(render(bytes.subarray(0, -20))).rejects.toThrow("premature end");
    }
  });

  it("counts the scans of a JPEG, whatever its other segments and what follows its end hold", async () => {
    const bytes = await withScans(12);
    const scan = Buffer.from("\xff\xda\0\x08", "latin1");
    const comment = Buffer.concat([Buffer.from("\xff\xfe\x01\x92", "latin1"), ...Array(100).fill(scan)]);

    const decoys = Buffer.concat([bytes.subarray(0, 2), comment, bytes.subarray(2), ...Array(100).fill(scan)]);

    expect(await sizesOf(decoys)).toEqual([
      [64, 48],
      [64, 48],
    ]);
    expect([markersOf(decoys), markersOf(await withScans(64))]).toMatchObject([{ scans: 12 }, { scans: 64 }]);
    await expect(render(await withScans(65))).rejects.toThrow("The JPEG has 65 scans: at most 64");
  });

  it("counts the scans of a JPEG that has other bytes between its first two markers", async () => {
    const bytes = await withScans(65);

    const shifted = Buffer.concat([bytes.subarray(0, 2), Buffer.from([0]), bytes.subarray(2)]);

    await expect(render(shifted)).rejects.toThrow("The JPEG has 65 scans: at most 64");
  });

  it("counts the scans of a JPEG that stand behind a reserved marker, where libjpeg looks for restarts", async () => {
    const bytes = await withScans(65, "\xff\x02\xff\xff", "\xff\xdd\0\x04\0\x01");

    await expect(render(bytes)).rejects.toThrow("The JPEG has 65 scans: at most 64");
  });

  it("takes the first frame of an animated AVIF", async () => {
    const { full } = await render(animatedAvif);

    expect(await sizeOf(full)).toEqual([40, 30]);
    expectNear(await pixelAt(full, 20, 15), [255, 0, 0]);
  });

  it("takes the first frame of an animation", async () => {
    const frames = [plain("#ff0000"), plain("#0000ff")].map((frame) => frame.png().toBuffer());
    const stack = sharp(await Promise.all(frames), { join: { animated: true } });

    for (const moving of [await stack.clone().gif().toBuffer(), await stack.clone().webp().toBuffer()]) {
      expect((await sharp(moving).metadata()).pages).toBe(2);
      const { full } = await render(moving);
      expect((await sharp(full).metadata()).pages).toBeUndefined();
      expectNear(await pixelAt(full, 5, 5), [255, 0, 0]);
    }
  });

  it.each(["png", "webp", "avif", "gif"] as const)("keeps the transparency of %s", async (format) => {
    const left = await plain("#00ff00ff", 10, 40).png().toBuffer();
    const half = plain("#ff000000", 20, 40).composite([{ input: left, left: 0, top: 0 }]);
    const input = await half.toFormat(format).toBuffer();

    const { full, scaled } = await render(input);

    for (const each of [full, scaled]) {
      expect((await pixelAt(each, 2, 20))[3]).toBe(255);
      expect((await pixelAt(each, 17, 20))[3]).toBe(0);
    }
  });

  it.each([
    { what: "grey", make: () => plain("#808080").toColourspace("b-w").png(), colour: [128, 128, 128] },
    { what: "CMYK", make: () => plain("#ffffff").toColourspace("cmyk").jpeg(), colour: [255, 255, 255] },
    { what: "16 bits", make: () => plain("#336699").toColourspace("rgb16").png(), colour: [0x33, 0x66, 0x99] },
    // The same red has a smaller number in a wider space: read without the profile, it would look dull.
    { what: "wide colours", make: () => plain("#ff0000").withIccProfile("p3").png(), colour: [255, 0, 0] },
  ])("brings $what to 8 bits of sRGB", async ({ make, colour }) => {
    const { full } = await render(await make().toBuffer());

    expect(await sharp(full).metadata()).toMatchObject({ depth: "uchar", space: "srgb" });
    expectNear(await pixelAt(full, 5, 5), colour);
  });
});

it("render: metadata are removed: EXIF, GPS, comments, profiles", async () => {
  const input = await sharp(await photograph(400, 300))
    .keepExif()
    .withIccProfile("p3")
    .withXmp("<x:xmpmeta xmlns:x='adobe:ns:meta/'>secret place</x:xmpmeta>")
    .jpeg()
    .toBuffer();
  const comment = Buffer.from("\xff\xfe\0\x0esecret words", "latin1");
  const commented = Buffer.concat([input.subarray(0, 2), comment, input.subarray(2)]);
  expect(commented.toString("latin1")).toMatch(/Somebody.*secret place/s);

  const { full, scaled } = await render(commented);

  for (const each of [full, scaled]) {
    const { exif, icc, xmp, iptc, orientation, comments } = await sharp(each).metadata();
    expect([exif, icc, xmp, iptc, orientation, comments]).toEqual(Array(6).fill(undefined));
    expect(each.toString("latin1")).not.toMatch(/secret|Somebody|Camera|EXIF|XMP|ICCP/);
  }
});

describe("render: errors", () => {
  const svg = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><image href='file:///etc/passwd'/></svg>";
  const noise = Buffer.alloc(4_400_000, Buffer.from(Array.from({ length: 997 }, (_, index) => (index * index) % 251)));

  const contents = blackPng(9, 9).subarray(33);

  it.each([
    { what: "SVG", make: async () => Buffer.from(svg) },
    {
      what: "SVG behind the box of an AVIF",
      make: async () => Buffer.from(`\0\0\0\x17ftypavif\0\0\0\0avif${svg}`, "latin1"),
    },
    { what: "SVG behind the start of a JPEG", make: async () => Buffer.from(`\xff\xd8\xff${svg}`, "latin1") },
    { what: "SVG behind the start of a GIF", make: async () => Buffer.from(`GIF89a${svg}`, "latin1") },
    { what: "HEIF that is no AVIF", make: async () => withoutBrand(await plain().avif().toBuffer()) },
    { what: "TIFF", make: async () => await plain().tiff().toBuffer() },
    { what: "noise", make: async () => noise },
    {
      what: "noise behind the start of a PNG",
      make: async () => Buffer.concat([blackPng(9, 9).subarray(0, 40), noise]),
    },
    { what: "a bomb", make: async () => blackPng(16_000, 16_000) },
    { what: "a bomb on one side", make: async () => blackPng(200_000, 300) },
    { what: "a header that lies", make: async () => Buffer.concat([blackPng(5_000, 5_000).subarray(0, 33), contents]) },
    { what: "half a JPEG", make: () => halfA("jpeg") },
    { what: "half a PNG", make: () => halfA("png") },
    { what: "half a WebP", make: () => halfA("webp") },
    { what: "half an AVIF", make: () => halfA("avif") },
    { what: "nothing", make: async () => Buffer.alloc(0) },
  ])("$what, soon", async ({ make }) => {
    const bytes = await make();
    const start = performance.now();

    await expect(render(bytes)).rejects.toThrow();

    expect(performance.now() - start).toBeLessThan(10_000);
  });

  it.each([
    {
      what: "one line more than 50 megapixels",
      accepted: blackPng(10_000, 5_000),
      heights: [512, 128],
      refused: blackPng(10_000, 5_001),
      message: /pixel limit/,
    },
    {
      what: "AVIF of more than 16 megapixels",
      accepted: avif(4_000, 4_000),
      heights: [1024, 256],
      refused: avif(4_001, 4_000),
      message: "The AVIF has 4001 x 4000",
    },
    {
      what: "a side of more than 16,384 pixels",
      accepted: blackPng(16_384, 16),
      heights: [1, 1],
      refused: blackPng(16_385, 1),
      message: "16385 x 1 pixels",
    },
    {
      what: "a higher side",
      accepted: blackPng(16, 16_384),
      heights: [1024, 256],
      refused: blackPng(1, 16_385),
      message: "1 x 16385 pixels",
    },
    {
      what: "a much higher side",
      accepted: blackPng(16, 16),
      heights: [16, 16],
      refused: blackPng(1, 50_000_000),
      message: "1 x 50000000 pixels",
    },
  ])("are thrown for $what", async ({ accepted, heights, refused, message }) => {
    expect((await sizesOf(await accepted)).map(([, height]) => height)).toEqual(heights);
    await expect(render(await refused)).rejects.toThrow(message);
  });
});

/** The bytes of an AVIF, called another kind of HEIF. */
function withoutBrand(bytes: Buffer): Buffer {
  const box = bytes.toString("latin1", 0, bytes.readUInt32BE(0));
  bytes.write(box.replaceAll("avif", "mif1"), 0, "latin1");
  return bytes;
}

/** A progressive JPEG whose first scan comes several times, so that all its scans are so many. */
async function withScans(count: number, afterFirst = "", beforeFirst = ""): Promise<Buffer> {
  const bytes = await plain("#336699", 64, 48).jpeg({ progressive: true }).toBuffer();
  const scan = Buffer.from("\xff\xda", "latin1");
  const start = bytes.indexOf(scan);
  const end = bytes.indexOf(0xff, start + 2);
  const scans = bytes.toString("latin1").split("\xff\xda").length - 1;
  const first = bytes.subarray(start, end);
  return Buffer.concat([
    bytes.subarray(0, start),
    Buffer.from(beforeFirst, "latin1"),
    first,
    Buffer.from(afterFirst, "latin1"),
    ...Array<Buffer>(count - scans).fill(first),
    bytes.subarray(end),
  ]);
}

async function halfA(format: "jpeg" | "png" | "webp" | "avif"): Promise<Buffer> {
  const bytes = await sharp(await photograph(800, 600))
    .toFormat(format)
    .toBuffer();
  return bytes.subarray(0, bytes.length >> 1);
}

function expectNear(actual: readonly number[], expected: readonly number[], distance = 12): void {
  const far = expected.some((value, index) => Math.abs(value - (actual[index] ?? Number.NaN)) > distance);
  expect(far, `${actual} is not near ${expected}`).toBe(false);
}

/** A red and a blue frame of 40 x 30 pixels, as libavif writes them. */
const animatedAvif = Buffer.from(
  [
    "AAAALGZ0eXBhdmlzAAAAAGF2aWZhdmlzbXNmMWlzbzhtaWYxbWlhZk1BMUIAAADrbWV0YQAAAAAAAAAhaGRscgAAAAAAAAAAcGlj",
    "dAAAAAAAAAAAAAAAAAAAAAAOcGl0bQAAAAAAAQAAAB5pbG9jAAAAAEQAAAEAAQAAAAEAAAPlAAAAJwAAAChpaW5mAAAAAAABAAAA",
    "GmluZmUCAAAAAAEAAGF2MDFDb2xvcgAAAABqaXBycAAAAEtpcGNvAAAAFGlzcGUAAAAAAAAAKAAAAB4AAAAQcGl4aQAAAAADCAgI",
    "AAAADGF2MUOBAAwAAAAAE2NvbHJuY2x4AAEADQAGgAAAABdpcG1hAAAAAAAAAAEAAQQBAoMEAAACxm1vb3YAAAB4bXZoZAEAAAAA",
    "AAAA5zAGUAAAAADnMAZQAAAD6P//////////AAEAAAEAAAAAAAAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAQAAAAAAAAAAAAAAAAAA",
    "QAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEAAAJGdHJhawAAAGh0a2hkAQAAAQAAAADnMAZQAAAAAOcwBlAAAAABAAAA",
    "AP//////////AAAAAAAAAAAAAAAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAQAAAAAAAAAAAAAAAAAAQAAAAAAoAAAAHgAAAAAALGVk",
    "dHMAAAAkZWxzdAEAAAEAAAABAAAAAAAAAMgAAAAAAAAAAAABAAAAAAGqbWRpYQAAACxtZGhkAQAAAAAAAADnMAZQAAAAAOcwBlAA",
    "AAPoAAAAAAAAAMhVxAAAAAAAIWhkbHIAAAAAAAAAAHBpY3QAAAAAAAAAAAAAAAAAAAABVW1pbmYAAAAUdm1oZAAAAAEAAAAAAAAA",
    "AAAAACRkaW5mAAAAHGRyZWYAAAAAAAAAAQAAAAx1cmwgAAAAAQAAARVzdGJsAAAAlXN0c2QAAAAAAAAAAQAAAIVhdjAxAAAAAAAA",
    "AAEAAAAAAAAAAAAAAAAAAAAAACgAHgBIAAAASAAAAAAAAAABCkFPTSBDb2RpbmcAAAAAAAAAAAAAAAAAAAAAAAAAAAAAGP//AAAA",
    "DGF2MUOBAAwAAAAAE2NvbHJuY2x4AAEADQAGgAAAABBjY3N0AAAAAHwAAAAAAAAYc3R0cwAAAAAAAAABAAAAAgAAAGQAAAAcc3Rz",
    "YwAAAAAAAAABAAAAAQAAAAIAAAABAAAAHHN0c3oAAAAAAAAAAAAAAAIAAAAnAAAAHwAAABRzdGNvAAAAAAAAAAEAAAPlAAAAFHN0",
    "c3MAAAAAAAAAAQAAAAEAAABObWRhdBIACg0AAAACpP02vkQENBoQMhQQAKAAAAJAAAAEVwElRKbzsXbHuBIAMhswA8CAAABGoAAA",
    "AkAAIAAjEQPJz+U+NE5O0jA=",
  ].join(""),
  "base64",
);
