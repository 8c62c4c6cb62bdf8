import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Cover } from "./cover.ts";
import type { Series } from "./types.ts";

/** Stores an object of type image/webp. */
type Put = (key: string, bytes: Buffer) => Promise<void>;

const defaultAspectRatio = 0.7;

/**
 * Draws the covers of the demo volumes that are not stored yet, in another process: where an image function has been
 * loaded, sharp reads no SVG any more.
 */
export async function makeCovers(
  put: Put,
  series: readonly Series[],
  drawn: ReadonlySet<string | undefined>,
): Promise<void> {
  const covers = coversOf(series).filter(({ key }) => !drawn.has(key));
  if (covers.length === 0) return;
  const child = fork(join(import.meta.dirname, "cover-process.ts"), { serialization: "advanced" });
  const stored: Promise<void>[] = [];
  child.on("message", ({ key, bytes }: { key: string; bytes: Uint8Array }) => {
    stored.push(put(key, Buffer.from(bytes)));
  });
  child.send(covers);
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`Drawing covers ended with ${code}`);
  await Promise.all(stored);
}

/** With the keys that `loadDemo` gives to volumes. */
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
