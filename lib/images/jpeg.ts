/** Photographs have about ten. A decoder reads all scans of a progressive JPEG in one call, which no time limit ends. */
export const scansMax = 64;

/** libvips takes whatever begins with FF D8 for a JPEG, and libjpeg skips other bytes before the next marker. */
export const isJpeg = (bytes: Buffer): boolean => bytes.length > 2 && bytes.readUInt16BE(0) === 0xffd8;

const endOfImage = 0xd9;
const startOfScan = 0xda;

/**
 * Markers without a length: RST0 to RST7, SOI, and all below SOF0. Those are reserved, and where libjpeg looks for a
 * restart it goes on right behind them, so their segments could hide scans.
 */
const isAlone = (marker: number) => marker < 0xc0 || (marker >= 0xd0 && marker <= 0xd8);

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
    // In the data of a scan FF 00, which is below SOF0 as well, stands for the byte FF.
    if (isAlone(marker)) continue;
    if (marker === startOfScan) scans++;
    if (at + 2 > bytes.length) break;
    at += bytes.readUInt16BE(at);
  }
  return { scans, hasEnd: false };
}

/** The JPEG with an end marker, which some cameras and downloads lack. */
export const withEnd = (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.from([0xff, endOfImage])]);
