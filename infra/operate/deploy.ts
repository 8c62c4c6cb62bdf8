import { spawnSync } from "node:child_process";

/*
 * npm run deploy -- [--urgent] STACK…
 *   `cdk deploy` with the same words; with --urgent all traffic moves at once, whatever the alarms say
 */

const words = process.argv.slice(2).flatMap((word) => (word === "--urgent" ? ["--context", "urgent=true"] : [word]));
const { status, error } = spawnSync("cdk", ["deploy", ...words], { stdio: "inherit" });
if (error) throw error;
process.exitCode = status ?? 1;
