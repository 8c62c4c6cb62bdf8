/**
 * Text that cannot control a terminal: control characters other than line breaks, and characters that are invisible or
 * turn the direction of text, are escaped as in JSON.
 */
export const visible = (text: string): string => text.replace(/[^\P{C}\n]/gu, escaped);

/** `\u202e`; of a character outside of the BMP its surrogates, as in JSON. */
const escaped = (character: string) =>
  character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");

/** Prints a line, which may contain what others have written. */
export function print(line: string, stream: NodeJS.WritableStream = process.stdout): void {
  stream.write(`${visible(line)}\n`);
}
