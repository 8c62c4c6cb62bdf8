import { spawnSync } from "node:child_process";
import { runCommand } from "../command.ts";

const usage =
  "npm run deploy -- [--urgent] STACK …\n" +
  "  packages all functions, and runs cdk deploy with these words; npx cdk deploy --help shows its flags\n" +
  "  --urgent  moves all traffic at once, whatever the alarms say";

const flags = { urgent: { type: "boolean" } } as const;

await runCommand({ usage, flags, passesOn: true }, async (_, words) => {
  const given = words.flatMap((word) => (word === "--urgent" ? ["--context", "urgent=true"] : [word]));
  for (const [program, ...args] of [
    ["npm", "run", "package"],
    ["cdk", "deploy", ...given],
  ] as const) {
    const { status, error } = spawnSync(program, args, { stdio: "inherit" });
    if (error) throw error;
    process.exitCode = status ?? 1;
    if (process.exitCode !== 0) return;
  }
});
