import { createHash } from "node:crypto";
import type { CatalogueLine } from "../../../lib/operators/transfer/catalogue-lines.ts";
import type { PageHandler } from "../../aws-local/api-gateway/server.ts";
import { imageHeaders } from "../pages/images.ts";

/** An image of the demo data, by its key: an SVG, drawn for each request, since that takes no time. */
export type Drawing = readonly [key: string, draw: () => string];

export const drawingHeaders = { "Content-Type": "image/svg+xml", "Cache-Control": "public, max-age=86400" };

/** Serves drawings as `pages` of the gateway. */
export function drawingPages(drawings: readonly Drawing[]): PageHandler {
  const drawers = new Map(drawings.map(([key, draw]) => [`/images/${key}`, draw]));
  return async ({ method = "", url = "" }, response) => {
    const draw = drawers.get(url);
    if (!draw || !["GET", "HEAD"].includes(method)) return false;
    response.writeHead(200, { ...imageHeaders, ...drawingHeaders }).end(method === "GET" ? draw() : undefined);
    return true;
  };
}

/** The covers of a catalogue's volumes, for made-up editions: title and number. */
export const covers = (lines: readonly CatalogueLine[]): Drawing[] =>
  lines.flatMap((line) =>
    line.kind === "series"
      ? (line.volumes ?? []).flatMap(({ cover, number, aspect_ratio: ratio }): Drawing[] =>
          cover ? [[cover, () => draw(cover, Math.round(width / ratio), line.name ?? "", number)]] : [],
        )
      : [],
  );

/** The avatars of a catalogue's contributors: names in squares. */
export const avatars = (lines: readonly CatalogueLine[]): Drawing[] =>
  lines.flatMap((line): Drawing[] => {
    if (line.kind !== "contributor" || !line.image) return [];
    const { image, first_name: first, last_name: last } = line;
    return [[image, () => draw(image, width, `${first ?? ""} ${last ?? ""}`.trim())]];
  });

/** A drawing as a small picture. */
export const scaled = (drawing: string): string =>
  drawing.replace(/ width="(\d+)" height="\1"/, ' width="256" height="256" viewBox="0 0 $1 $1"');

const width = 300;
/** Hues of backgrounds on which white letters can be read. */
const hues = [8, 24, 38, 96, 152, 176, 198, 214, 232, 262, 288, 322, 344];

/** Draws text, and a number if there is one. Colours and shapes are derived from the key, so they are always the same. */
function draw(key: string, height: number, text: string, number?: number): string {
  const digest = createHash("sha256").update(key).digest();
  const pick = (index: number, below: number) => (digest[index] ?? 0) % below;
  const hue = (hues[pick(0, hues.length)] ?? 0) + pick(1, 10);
  const ground = `hsl(${hue},45%,${28 + pick(2, 10)}%)`;
  const accent = `hsl(${(hue + 150 + pick(3, 60)) % 360},60%,62%)`;
  const corner =
    number === undefined
      ? ""
      : `<circle cx="${width - 44}" cy="${height - 44}" r="22" fill="${ground}"/>
      <text x="${width - 44}" y="${height - 35}" font-size="26" text-anchor="middle">${number}</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
    <rect width="${width}" height="${height}" fill="${ground}"/>
    <circle cx="${90 + pick(4, 120)}" cy="${height * 0.68}" r="${45 + pick(5, 40)}" fill="${accent}"/>
    <rect x="12" y="12" width="${width - 24}" height="${height - 24}" fill="none" stroke="#fff" stroke-opacity=".5"/>
    <g font-family="DejaVu Serif, Georgia, serif" font-weight="bold" fill="#fff">
      ${lettering(text)}
      ${corner}
    </g>
  </svg>`;
}

/** A text in lines of about fourteen letters. */
function lettering(text: string): string {
  const lines = text.match(/\S.{0,13}(?=\s|$)|\S+/g)?.slice(0, 5) ?? [];
  const size = Math.min(34, Math.floor(345 / Math.max(...lines.map((line) => line.length))));
  return lines
    .map((line, row) => `<text x="28" y="${62 + row * size * 1.2}" font-size="${size}">${escaped(line)}</text>`)
    .join("");
}

const escaped = (text: string) => text.replaceAll(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
