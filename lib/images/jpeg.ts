/** Photographs have about ten. A decoder reads all scans of a progressive JPEG in one call, which no time limit ends. */
export const scansMax = 64;

/** FF D8 FF begins each JPEG. */
export const isJpeg = (bytes: Buffer): boolean => bytes.length > 3 && bytes.readUIntBE(0, 3) === 0xffd8ff;

const endOfImage = 0xd9;
const startOfScan = 0xda;

/** Markers without a length: TEM, RST0 to RST7, and SOI. */
const isAlone = (marker: number) => marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8);

/**
 * Goes through the markers of a JPEG as libjpeg does (ITU-T T.81, B.1.1), without decoding anything. Thumbnails are in
 * segments, so their scans do not count.
 */
export function markersOf(bytes: Buffer): { readonly scans: number; readonly hasEnd: boolean } {
  let scans = 0;
  for (let at = bytes.indexOf(0xff, 2); at >= 0; at = bytes.indexOf(0xff, at)) {
    while (bytes[at] === 0xff) at++;
    const marker = bytes[at++];
    if (marker === undefined) break;
    if (marker === endOfImage) return { scans, hasEnd: true };
    // In the data of a scan FF 00 stands for the byte FF.
    if (marker === 0 || isAlone(marker)) continue;
    if (marker === startOfScan) scans++;
    if (at + 2 > bytes.length) break;
    at += bytes.readUInt16BE(at);
  }
  return { scans, hasEnd: false };
}

/** The JPEG with an end marker, which some cameras and downloads lack. */
export const withEnd = (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.from([0xff, endOfImage])]);
