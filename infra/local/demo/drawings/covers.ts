import type { CatalogueLine } from "../../../../lib/operators/catalogue-lines.ts";
import { type Drawing, pickFor } from "./drawings.ts";

interface Cover {
  readonly key: string;
  readonly title: string;
  readonly number: number;
  readonly aspectRatio: number;
}

/** The covers of a catalogue's volumes. */
export const covers = (lines: readonly CatalogueLine[]): Drawing[] =>
  lines.flatMap(coversOf).map((cover) => [cover.key, () => draw(cover)]);

const coversOf = (line: CatalogueLine): Cover[] =>
  line.kind === "series"
    ? (line.volumes ?? []).flatMap(({ cover, number, aspect_ratio: aspectRatio }) =>
        cover ? { key: cover, title: line.name ?? "", number, aspectRatio } : [],
      )
    : [];

const width = 300;
/** Hues of backgrounds on which white letters can be read. */
const hues = [8, 24, 38, 96, 152, 176, 198, 214, 232, 262, 288, 322, 344];

/** Draws a cover for a made-up edition. Colours and shapes are derived from the key, so the cover is always the same. */
function draw({ key, title, number, aspectRatio }: Cover): string {
  const height = Math.round(width / aspectRatio);
  const pick = pickFor(key);
  const hue = (hues[pick(0, hues.length)] ?? 0) + pick(1, 10);
  const ground = `hsl(${hue},45%,${28 + pick(2, 10)}%)`;
  const accent = `hsl(${(hue + 150 + pick(3, 60)) % 360},60%,62%)`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
    <rect width="${width}" height="${height}" fill="${ground}"/>
    <circle cx="${90 + pick(4, 120)}" cy="${height * 0.68}" r="${45 + pick(5, 40)}" fill="${accent}"/>
    <rect x="12" y="12" width="${width - 24}" height="${height - 24}" fill="none" stroke="#fff" stroke-opacity=".5"/>
    <g font-family="DejaVu Serif, Georgia, serif" font-weight="bold" fill="#fff">
      ${lettering(title)}
      <circle cx="${width - 44}" cy="${height - 44}" r="22" fill="${ground}"/>
      <text x="${width - 44}" y="${height - 35}" font-size="26" text-anchor="middle">${number}</text>
    </g>
  </svg>`;
}

/** The title in lines of about fourteen letters. */
function lettering(title: string): string {
  const lines = title.match(/\S.{0,13}(?=\s|$)|\S+/g)?.slice(0, 5) ?? [];
  const size = Math.min(34, Math.floor(345 / Math.max(...lines.map((line) => line.length))));
  return lines
    .map((line, row) => `<text x="28" y="${62 + row * size * 1.2}" font-size="${size}">${escaped(line)}</text>`)
    .join("");
}

const escaped = (text: string) => text.replaceAll(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
