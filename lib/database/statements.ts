/**
 * Splits an SQL file, since the Data API takes one statement a call. Each statement ends with a semicolon and a blank
 * line, and the next one is not indented; the body of a function is.
 */
export const statements = (file: string): string[] =>
  file.split(/;\s*\n\n+(?=\S)|;\s*$/).filter((each) => each.trim() !== "");
