import names from "./01-names.sql";
import images from "./02-images.sql";
import access from "./03-access.sql";
import catalogue from "./04-catalogue.sql";
import series from "./05-series.sql";
import counters from "./06-counters.sql";
import ledger from "./07-ledger.sql";
import edge from "./08-edge.sql";
import signIn from "./09-sign-in.sql";
import imports from "./10-imports.sql";
import roles from "./11-roles.sql";
import edgeRuns from "./12-edge-runs.sql";

export interface Migration {
  readonly name: string;
  /** Statements, each ended by a semicolon and a blank line, with the next one at the margin. */
  readonly text: string;
}

/**
 * Every migration in the order it is applied. A landed file never changes: what is wrong is put right by the next one.
 * Bodies of functions hold no colon, since the Data API looks for parameters in there too.
 */
export const migrations: readonly Migration[] = [
  { name: "01-names", text: names },
  { name: "02-images", text: images },
  { name: "03-access", text: access },
  { name: "04-catalogue", text: catalogue },
  { name: "05-series", text: series },
  { name: "06-counters", text: counters },
  { name: "07-ledger", text: ledger },
  { name: "08-edge", text: edge },
  { name: "09-sign-in", text: signIn },
  { name: "10-imports", text: imports },
  { name: "11-roles", text: roles },
  { name: "12-edge-runs", text: edgeRuns },
];
