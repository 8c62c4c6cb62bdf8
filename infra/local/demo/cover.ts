import { createHash } from "node:crypto";
import sharp from "sharp";

/** What a cover shows. */
export interface Cover {
  readonly key: string;
  readonly title: string;
  readonly number: number;
  readonly aspectRatio: number;
}

const width = 300;
/** Hues of backgrounds on which white letters can be read. */
const hues = [8, 24, 38, 96, 152, 176, 198, 214, 232, 262, 288, 322, 344];

/** Draws a cover for a made-up edition. Colours and shapes are derived from the key, so the cover is always the same. */
export async function drawCover(cover: Cover): Promise<Buffer> {
  const height = Math.round(width / cover.aspectRatio);
  return await sharp(Buffer.from(svgOf(cover, height, await hasFonts)))
    .webp({ quality: 60, effort: 1 })
    .toBuffer();
}

const letter = (text: string) =>
  sharp(Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40">${textOf(text, 2, 30, 30)}</svg>`))
    .raw()
    .toBuffer();

/** On a machine without fonts all letters are the same empty box. */
const hasFonts = Promise.all([letter("I"), letter("W")]).then(([one, other]) => !one.equals(other));

function svgOf({ key, title, number }: Cover, height: number, isLettered: boolean): string {
  const digest = createHash("sha256").update(key).digest();
  const pick = (index: number, below: number) => (digest[index % digest.length] ?? 0) % below;
  const hue = (hues[pick(0, hues.length)] ?? 0) + pick(1, 10);
  const ground = `hsl(${hue},45%,${28 + pick(2, 10)}%)`;
  const accent = `hsl(${(hue + 150 + pick(3, 60)) % 360},60%,62%)`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
    <rect width="${width}" height="${height}" fill="${ground}"/>
    ${motif(pick, height, accent)}
    <rect x="12" y="12" width="${width - 24}" height="${height - 24}" fill="none" stroke="#fff" stroke-opacity=".5"/>
    ${isLettered ? lettering(title, number, height, ground) : ""}
  </svg>`;
}

/** The title on top and the number of the volume in a corner. */
function lettering(title: string, number: number, height: number, ground: string): string {
  const lines = wrap(title, 14).slice(0, 5);
  const size = Math.min(34, Math.floor(345 / Math.max(...lines.map((line) => line.length))));
  const text = lines.map((line, row) => textOf(line, 28, 62 + row * size * 1.2, size)).join("");
  const [x, y] = [width - 44, height - 44];
  return `${text}<circle cx="${x}" cy="${y}" r="22" fill="${ground}"/>${textOf(String(number), x, y + 9, 26, "middle")}`;
}

/** One of a few arrangements of simple shapes in the lower part, also on machines without fonts. */
function motif(pick: (index: number, below: number) => number, height: number, colour: string): string {
  const centre = { x: 90 + pick(4, 120), y: height * 0.68 };
  const radius = 45 + pick(5, 40);
  const shapes = [
    () => `<circle cx="${centre.x}" cy="${centre.y}" r="${radius}"/>`,
    () =>
      [1, 0.7, 0.4]
        .map((part) => `<circle cx="${centre.x}" cy="${centre.y}" r="${radius * part}" fill-opacity="${1.1 - part}"/>`)
        .join(""),
    () => `<path d="M0 ${height}V${height * 0.8}L${centre.x} ${height * 0.5}L${width} ${height * 0.85}V${height}z"/>`,
    () =>
      [0, 1, 2, 3, 4]
        .map(
          (bar) =>
            `<rect x="${28 + bar * 50}" y="${height * (0.55 + pick(6 + bar, 25) / 100)}" width="34" height="${height}"/>`,
        )
        .join(""),
    () =>
      `<path d="M0 ${height * 0.7}q75 -60 150 0t150 0V${height}H0z"/><circle cx="${centre.x}" cy="${height * 0.52}" r="22"/>`,
  ];
  return `<g fill="${colour}">${shapes[pick(12, shapes.length)]?.()}</g>`;
}

function textOf(text: string, x: number, y: number, size: number, anchor = "start"): string {
  return `<text x="${x}" y="${y}" font-family="DejaVu Serif, Georgia, serif" font-size="${size}" font-weight="bold" fill="#fff" text-anchor="${anchor}">${escaped(text)}</text>`;
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/** Breaks a title into lines of about so many letters. */
function wrap(title: string, letters: number): string[] {
  const lines: string[] = [];
  for (const word of title.split(" ")) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + word.length < letters) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}
