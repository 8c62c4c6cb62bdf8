import type { CatalogueLine } from "../../../../lib/operators/catalogue-lines.ts";
import { type Drawing, pickFor } from "./drawings.ts";

/** The avatars of a catalogue's contributors: their initials, in two tones of a hue that is derived from the key. */
export const avatars = (lines: readonly CatalogueLine[]): Drawing[] =>
  lines.flatMap((line) => {
    if (line.kind !== "contributor" || !line.image) return [];
    const { image, first_name: first, last_name: last } = line;
    return [[image, () => draw(image, `${first ?? ""} ${last ?? ""}`)]] satisfies Drawing[];
  });

function draw(key: string, name: string): string {
  const pick = pickFor(key);
  const hue = pick(0, 24) * 15 + pick(1, 15);
  const initials = (name.match(/(?<!\S)\p{L}/gu) ?? []).slice(0, 3).join("");
  return `<svg xmlns="http://www.w3.org/2000/svg" width="400" height="400" viewBox="0 0 200 200">
    <rect width="200" height="200" fill="hsl(${hue},50%,80%)"/>
    <circle cx="100" cy="100" r="82" fill="hsl(${hue},45%,30%)"/>
    <text x="100" y="122" font-family="DejaVu Serif, Georgia, serif" font-size="62" text-anchor="middle" fill="#fff">
      ${initials}
    </text>
  </svg>`;
}
