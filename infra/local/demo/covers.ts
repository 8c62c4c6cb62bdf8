import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Cover } from "./cover.ts";
import type { Series } from "./types.ts";

/** Stores an object of type image/webp. */
type Put = (key: string, bytes: Buffer) => Promise<void>;

const defaultAspectRatio = 0.7;

/**
 * Draws a cover for each demo volume that should have one and has not. In a process of its own: sharp can read SVG
 * only for as long as no image function has been loaded beside it.
 */
export async function makeCovers(
  put: Put,
  series: readonly Series[],
  has: (key: string) => Promise<boolean> = async () => false,
): Promise<void> {
  const wanted = coversOf(series);
  const present = await Promise.all(wanted.map(({ key }) => has(key)));
  const covers = wanted.filter((_, index) => !present[index]);
  if (covers.length === 0) return;
  const artist = fork(join(import.meta.dirname, "cover-process.ts"), { serialization: "advanced" });
  const stored: Promise<void>[] = [];
  artist.on("message", ({ key, bytes }: { key: string; bytes: Uint8Array }) => {
    stored.push(put(key, Buffer.from(bytes)));
  });
  artist.send(covers);
  const [code] = await once(artist, "exit");
  if (code !== 0) throw new Error(`Drawing covers ended with ${code}`);
  await Promise.all(stored);
}

/** The same keys as the demo data give to volumes. */
const coversOf = (series: readonly Series[]): Cover[] =>
  series.flatMap(({ key, name, volumes }) =>
    volumes
      .filter(({ cover = true }) => cover)
      .map(({ number, aspect_ratio = defaultAspectRatio }) => ({
        key: `covers/${key}-${number}.webp`,
        title: name,
        number,
        aspectRatio: aspect_ratio,
      })),
  );
