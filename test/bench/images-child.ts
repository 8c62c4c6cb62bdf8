import { readFile } from "node:fs/promises";
import sharp from "sharp";
import { render } from "../../lib/images/render.ts";
import { base64Of } from "../../lib/images/source.ts";
import type { Report, Task } from "./images.ts";
import { sideBySide, timed } from "./measure.ts";

const [task, file = ""] = process.argv.slice(2) as [Task, string];
const bytes = await readFile(file);
const body = `data:image/jpeg;base64,${bytes.toString("base64")}`;

const ours = async () => await render(Buffer.from(base64Of(body), "base64"));

/** The shortest script for the same sizes, without limits and checks. */
async function bare(): Promise<void> {
  const image = sharp(bytes).autoOrient();
  await Promise.all([1_024, 256].map((side) => image.clone().resize(side, side, { fit: "inside" }).webp().toBuffer()));
}

const rounds = 15;

async function measured(): Promise<Omit<Report, "peakMegabytes">> {
  if (task === "refuse") {
    const refused = () =>
      ours().then(
        () => Promise.reject(new Error("It was not refused")),
        () => undefined,
      );
    return { milliseconds: await timed(refused), bareMilliseconds: Number.NaN };
  }
  if (task === "render") return { milliseconds: await timed(ours), bareMilliseconds: Number.NaN };
  const [milliseconds = Number.NaN, bareMilliseconds = Number.NaN] = await sideBySide([ours, bare], rounds);
  return { milliseconds, bareMilliseconds };
}

const report: Report = { ...(await measured()), peakMegabytes: process.resourceUsage().maxRSS / 1_024 };
process.send?.(report);
process.disconnect();
