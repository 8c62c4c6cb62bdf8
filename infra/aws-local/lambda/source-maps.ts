import { readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Gives stack traces the files and lines that bundles were made from. A source map is read for the first trace that needs it:
 * Node's own `setSourceMapsEnabled` reads the map of each file that is loaded, a seventh of the CPU of a cold start.
 */
export function mapStackTraces(): void {
  Error.prepareStackTrace = (error, frames) => [error, ...frames.map(textOf)].join("\n    at ");
}

const maps = new Map<string, SourceMap | undefined>();

/** The map that stands beside a bundle, if it has one. */
function mapOf(file: string): SourceMap | undefined {
  if (!maps.has(file)) maps.set(file, readMap(`${file}.map`));
  return maps.get(file);
}

function readMap(file: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    return undefined;
  }
}

function textOf(frame: NodeJS.CallSite): string {
  const text = String(frame);
  const [url, line, column] = [frame.getScriptNameOrSourceURL(), frame.getLineNumber(), frame.getColumnNumber()];
  if (!url?.startsWith("file:") || !line || !column) return text;
  const file = fileURLToPath(url);
  const origin = mapOf(file)?.findOrigin(line, column);
  if (!origin || !("fileName" in origin)) return text;
  const { fileName, lineNumber, columnNumber } = origin;
  return text.replace(`${url}:${line}:${column}`, `${join(dirname(file), fileName)}:${lineNumber}:${columnNumber}`);
}
