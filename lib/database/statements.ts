/**
 * The Data API takes one statement a call. In the files of migrations, changes and rights each ends with a semicolon and
 * a blank line, and what follows begins at the margin; the body of a function does not.
 */
export const statements = (file: string): string[] =>
  file.split(/;\s*\n\n+(?=\S)|;\s*$/).filter((each) => each.trim() !== "");
