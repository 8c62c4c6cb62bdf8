import { readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { Option } from "@commander-js/extra-typings";
import { runningPostgres } from "../aws-local/postgres/cluster.ts";
import { newCommand, runCommand, UsageError } from "../command/command.ts";
import { functionPathOf } from "../command/event.ts";
import { print } from "../command/print.ts";
import { localDirectory } from "./credentials.ts";
import { defaultName } from "./database.ts";
import { databaseUrlFrom } from "./database-url.ts";
import { plansOf } from "./query-plan.ts";

const folder = join(import.meta.dirname, "../../lib/queries/statements");

export const command = newCommand("npm run sql")
  .description("Names the file of the statements that an endpoint sends for its sample event, or prints their plans.")
  .argument("<name>", "as contributors/list")
  .option("--explain", "run the statements, roll them back, and print their plans")
  .addOption(
    new Option("--data <directory>", "the directory of the running service's data").default(localDirectory, ".local"),
  )
  .option("--database <url>", "another database than that one; a URL with a password goes into COLOPHON_DATABASE_URL");

if (import.meta.main) {
  await runCommand(
    command.action(async (input, { explain, data, database }) => {
      const given = databaseUrlFrom(database);
      const file = join(folder, `${functionPathOf(input)}.sql`);
      const text = await readFile(file, "utf8").catch(() => {
        throw new UsageError(`${input} has no committed statement: only endpoints that begin with a statement have`);
      });
      if (!explain) return print(relative(process.cwd(), file));
      const url = given ?? `${await runningPostgres(join(data, "postgres"))}/${defaultName}`;
      print(await plansOf(text, url));
    }),
  );
}
