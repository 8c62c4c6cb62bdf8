import { type Drawing, pickFor } from "./drawings.ts";
import portraits from "./portraits.json" with { type: "json" };

/** The avatars of the demo data's contributors. */
export const avatars: readonly Drawing[] = Object.entries(portraits).map(([key, features]) => [
  `avatars/${key}.svg`,
  () => draw(key, features),
]);

/** Draws head and shoulders in tones of two hues, which are derived from the key. */
function draw(key: string, features: readonly string[]): string {
  const pick = pickFor(key);
  const hue = pick(0, 24) * 15;
  const tones: Tones = {
    ground: `hsl(${hue},50%,${76 + pick(1, 8)}%)`,
    ink: `hsl(${hue},40%,22%)`,
    skin: `hsl(${hue},45%,93%)`,
    dark: features.includes("grey") ? `hsl(${hue},12%,62%)` : `hsl(${hue},40%,${20 + pick(2, 10)}%)`,
    clothes: `hsl(${(hue + 150 + pick(3, 60)) % 360},45%,48%)`,
  };
  const layer = (of: keyof Layers) => features.map((name) => looks[name]?.[of]?.(tones) ?? "").join("");
  return `<svg xmlns="http://www.w3.org/2000/svg" width="400" height="400" viewBox="0 0 200 200">
    <rect width="200" height="200" fill="${tones.ground}"/>
    ${layer("behind")}
    <path d="M84 116h32v28q34 4 54 18 12 10 14 38H16q2-28 14-38 20-14 54-18z" fill="${tones.clothes}"/>
    <path d="M84 110h32v34q-16 16-32 0z" fill="${tones.skin}"/>
    <path d="M62 80c0-34 18-46 38-46s38 12 38 46c0 30-18 52-38 52s-38-22-38-52z" fill="${tones.skin}"/>
    <g fill="${tones.ink}"><circle cx="85" cy="86" r="3.5"/><circle cx="115" cy="86" r="3.5"/></g>
    <path d="M89 112q11 8 22 0" fill="none" stroke="${tones.ink}" stroke-width="3" stroke-linecap="round"/>
    ${layer("front")}
  </svg>`;
}

interface Tones {
  readonly ground: string;
  /** Of eyes and mouth. */
  readonly ink: string;
  readonly skin: string;
  readonly dark: string;
  readonly clothes: string;
}

type Layer = (tones: Tones) => string;

/** What lies behind the head, and what lies on it. */
interface Layers {
  readonly behind?: Layer;
  readonly front?: Layer;
}

const shape =
  (path: string, tone: keyof Tones = "dark"): Layer =>
  (tones) =>
    `<path d="${path}" fill="${tones[tone]}"/>`;

const crown = "M58 84c-4-40 18-58 42-58s46 18 42 58c-6-18-16-28-24-30-20 8-44 6-52 4-4 6-6 14-8 26z";

/** How each feature is drawn; `grey` is a tone. */
const looks: Readonly<Record<string, Layers>> = {
  short: { front: shape(crown) },
  quiff: {
    front: shape(
      "M60 74c0-26 12-40 30-42 2-12 12-18 22-16-6 4-6 8-4 14 20 2 32 18 32 44-8-16-18-24-40-24s-34 8-40 24z",
    ),
  },
  bob: { behind: shape("M54 118c-8-60 10-94 46-94s54 34 46 94c-20 6-72 6-92 0z"), front: shape(crown) },
  long: { behind: shape("M48 172c4-34-8-148 52-148s48 114 52 148z"), front: shape(crown) },
  bun: { behind: shape("M78 22a22 18 0 1 1 44 0 22 18 0 1 1-44 0z"), front: shape(crown) },
  curls: {
    behind: ({ dark }) =>
      [[58, 60], [54, 84], [60, 106], [142, 60], [146, 84], [140, 106], [76, 40], [100, 32], [124, 40]]
        .map(([x, y]) => `<circle cx="${x}" cy="${y}" r="18" fill="${dark}"/>`)
        .join(""), // biome-ignore format: pairs in a row
    front: shape("M62 74c2-30 18-42 38-42s36 12 38 42c-14-20-60-24-76 0z"),
  },
  beard: {
    front: shape(
      "M61 88c2 40 20 62 39 62s37-22 39-62c-8 12-14 14-22 14-10-6-24-6-34 0-8 0-14-2-22-14zm27 24q12-6 24 0-12 10-24 0z",
    ),
  },
  glasses: {
    front: () =>
      '<g fill="#fff" fill-opacity=".35" stroke="#222" stroke-width="3"><circle cx="85" cy="86" r="13"/>' +
      '<circle cx="115" cy="86" r="13"/><path d="M98 84q2-2 4 0M72 84l-9-3M128 84l9-3" fill="none"/></g>',
  },
  beret: {
    front: shape("M48 56c-4-26 30-40 60-36 30 2 48 18 42 36-26-8-78-10-102 0zm52-42q2-8 8-8l-2 10z", "clothes"),
  },
  hat: { front: shape("M34 60q66-20 132 0-2 8-8 8-58-14-116 0-6 0-8-8zm26-4q-4-46 40-44 44-2 40 44z", "ink") },
  cap: {
    behind: shape("M56 104q-8-84 44-84t44 84q-10 12-18 0V66H74v38q-8 12-18 0z", "clothes"),
    front: shape("M58 64c2-26 18-38 42-38s40 12 42 38q-42-16-84 0z", "clothes"),
  },
};
