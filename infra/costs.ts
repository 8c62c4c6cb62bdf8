import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { renderCosts } from "./costs/render.ts";
import { type Settings, settings } from "./stages.ts";

const place = /(<!-- costs -->\n)[\s\S]*(<!-- \/costs -->)/;

/** A text with the tables of these settings in the place for them. */
export function withCosts(text: string, settings: Settings): string {
  if (!place.test(text)) throw new Error("There is no place between <!-- costs --> and <!-- /costs -->");
  return text.replace(place, (_, start, end) => `${start}\n${renderCosts(settings)}\n\n${end}`);
}

if (import.meta.main) {
  const readme = join(import.meta.dirname, "README.md");
  if (process.argv.includes("--write")) writeFileSync(readme, withCosts(readFileSync(readme, "utf8"), settings));
  else console.log(renderCosts(settings));
}
