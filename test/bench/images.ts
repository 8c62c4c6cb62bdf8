import { fork } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { base64LengthMax } from "../../lib/images/source.ts";
import { blackPng, photograph } from "../support/pictures.ts";
import { messageOf } from "./child.ts";
import { print, type Row } from "./measure.ts";

/** The task of the measuring process. */
export type Task = "render" | "compare" | "refuse";

export interface Report {
  /** The time of the work; for `refuse` until the error. */
  readonly milliseconds: number;
  /** The time of a bare script for the same sizes; only for `compare`. */
  readonly bareMilliseconds: number;
  /** The peak memory of the process. */
  readonly peakMegabytes: number;
}

const ratioMax = 1.15;
const peakMegabytesMax = 350;
const rejectionMillisecondsMax = 300;

/** Measures how images are processed and refused, each in a new process, so that its memory can be measured. */
export async function benchImages(): Promise<Row[]> {
  const directory = await mkdtemp(join(tmpdir(), "colophon-bench-images-"));
  const measure = async (task: Task, bytes: Buffer): Promise<Report> => {
    const file = join(directory, crypto.randomUUID());
    await writeFile(file, bytes);
    return await messageOf<Report>(fork(join(import.meta.dirname, "images-child.ts"), [task, file]));
  };
  try {
    const photo = await photograph(4_000, 3_000);
    const compared = await measure("compare", photo);
    const rendered = await measure("render", photo);
    const black = await measure("render", blackPng(10_000, 5_000));
    const refused: Row[] = [];
    for (const [what, bytes] of invalidImages(photo)) {
      const { milliseconds, peakMegabytes } = await measure("refuse", bytes);
      refused.push(
        { what: `${what}: refused in`, value: milliseconds, unit: "ms", bound: rejectionMillisecondsMax },
        { what: `${what}: peak memory`, value: peakMegabytes, unit: "MB", bound: peakMegabytesMax },
      );
    }
    return [
      { what: "12-megapixel JPEG to both sizes", value: compared.milliseconds, unit: "ms" },
      {
        what: "the same, compared with a bare sharp script",
        value: compared.milliseconds / compared.bareMilliseconds,
        unit: "",
        bound: ratioMax,
      },
      { what: "the same: peak memory", value: rendered.peakMegabytes, unit: "MB", bound: peakMegabytesMax },
      { what: "the largest PNG, 50 megapixels: peak memory", value: black.peakMegabytes, unit: "MB" },
      ...refused,
    ];
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** The size of the largest file that is accepted as Base64 with the prefix of a data URL. */
const bytesMax = ((base64LengthMax - 100) / 4) * 3;

function invalidImages(photo: Buffer): [string, Buffer][] {
  const noise = Buffer.alloc(bytesMax, photo.subarray(1_000, 99_991));
  const svg = "<svg xmlns='http://www.w3.org/2000/svg'><image href='http://127.0.0.1:9/'/></svg>";
  return [
    ["bomb of 16,000 x 16,000", blackPng(16_000, 16_000)],
    ["half a photograph", photo.subarray(0, photo.length >> 1)],
    ["garbage", Buffer.alloc(100_000, "garbage")],
    ["SVG with an external reference", Buffer.from(svg)],
    ["6 MB of noise", noise],
    ["6 MB of noise that starts as a JPEG", Buffer.concat([photo.subarray(0, 600), noise]).subarray(0, bytesMax)],
  ];
}

if (import.meta.main) print("Images", await benchImages());
