import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../command.ts";
import type { Settings } from "../settings/schema.ts";
import { synthesize } from "../stacks/app.ts";
import { settings } from "../stages.ts";
import * as month from "./month.ts";
import { prices, pricesOf } from "./prices.ts";

const section = /(<!-- costs -->\n)[\s\S]*(<!-- \/costs -->)/;

/** The text with the section of costs replaced, for these settings and the templates in a folder. */
export function withCosts(text: string, settings: Settings, folder: string): string {
  if (!section.test(text)) throw new Error("The text has no section between <!-- costs --> and <!-- /costs -->");
  return text.replace(section, (_, start, end) => `${start}\n${costs(settings, folder)}\n\n${end}`);
}

function costs({ account, databases, stages }: Settings, folder: string): string {
  const files = readdirSync(folder).filter((file) => /^colophon-.*\.template\.json$/.test(file));
  const read = (file: string): month.Template => JSON.parse(readFileSync(join(folder, file), "utf8"));
  const stacks = new Map(files.map((file) => [file.replace(/\..*/, ""), read(file)]));
  const months = stages.flatMap((stage) => {
    const database = databases.find(({ name }) => name === stage.database);
    if (!database || !stage.isProtected) return [];
    const own = [`colophon-${stage.name}`, `colophon-${database.name}-database`, `colophon-${database.name}-backup`];
    const deployed = { account, stage, database, templates: own.flatMap((name) => stacks.get(name) ?? []) };
    return [monthTable(deployed), limitTable(deployed)];
  });
  const rest = [...stacks].map(([name, each]) => [name.replace("colophon-", ""), month.restOf(each)] as const);
  return [sheet("### At rest, a month", rest), ...months, assumptions, priceTable].join("\n\n");
}

const table = (title: string, columns: readonly string[], rows: readonly (readonly string[])[]): string => {
  const rule = columns.map((_, index) => (/^[$\d.,]+$/.test(rows[0]?.[index] ?? "") ? "---:" : "---"));
  return [`${title}\n`, ...[columns, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`)].join("\n");
};

/** A table with a column for each month and a row for each service, cheapest first, and their sums. */
function sheet(title: string, months: readonly (readonly [column: string, lines: month.Lines])[]): string {
  const sum = (amounts: readonly number[]) => amounts.reduce((total, each) => total + each, 0);
  const row = (what: string) => months.map(([, lines]) => lines[what] ?? 0);
  const names = Object.keys(months[0]?.[1] ?? {}).filter((what) => sum(row(what)) > 0);
  const rows = names
    .sort((one, other) => sum(row(one)) - sum(row(other)))
    .map((what) => [what, ...row(what).map(dollars)]);
  const totals = months.map(([, lines]) => dollars(sum(Object.values(lines))));
  return table(title, ["", ...months.map(([column]) => column)], [...rows, ["**together**", ...totals]]);
}

const number = (value: number, digits = 2) => value.toLocaleString("en-US", { maximumFractionDigits: digits });
const dollars = (amount: number) => `$${amount < 100 ? amount.toFixed(2) : number(amount, 0)}`;

const volumes = [1, 10, 100, 1_000] as const;

const monthTable = (deployed: month.Deployed): string => {
  const months = volumes.flatMap((each) => [
    [`${number(each)} M`, month.monthOf(deployed, each, false)] as const,
    ["with edge", month.monthOf(deployed, each, true)] as const,
  ]);
  return sheet(`### A month of stage \`${deployed.stage.name}\``, months);
};

/** The limit that a month's peak uses most, and a second one if the peak exceeds it as well. */
const limitTable = (deployed: month.Deployed): string => {
  const limitsText = (limits: ReturnType<typeof month.limitsOf>) =>
    limits
      .filter(([, share], index) => index === 0 || (share > 1 && index < 2))
      .map(([limit, share]) => `${limit} ${number(100 * share, share < 0.1 ? 2 : 0)} %`);
  const rows = volumes.map((each) => [
    `${number(each)} M, ${number(month.perSecond(each) * month.assumed.peak.value, 0)}/s`,
    ...[false, true].map((hasEdge) => limitsText(month.limitsOf(deployed, each, hasEdge)).join(", ")),
  ]);
  return table(`### What breaks first on stage \`${deployed.stage.name}\``, ["", "without edge", "with edge"], rows);
};

const assumptions = [
  "### What is assumed\n",
  ...month.mix.map(({ kind, share, kilobytes, cpu, databaseCpu, writes }) => {
    const takes = `${kilobytes} KB, ${cpu} ms of a vCPU, ${databaseCpu} ms of PostgreSQL's, ${writes} writes of storage`;
    return `- ${number(100 * share)} % of the requests are ${kind}: ${takes}`;
  }),
  ...Object.values(month.assumed).map(({ value, what }) => `- ${number(value)} ${what}`),
].join("\n");

const priceTable = table(
  `### Prices in ${pricesOf}`,
  ["what", "price", "per", "source"],
  Object.values(prices).map(({ what, dollars, per, source }) => [
    ...[what, `$${dollars.toFixed(4).replace(/0{1,2}$/, "")}`, per, source],
  ]),
);

const usage = "npm run costs\n  puts what the settings of infra/stages.ts cost into infra/README.md";

if (import.meta.main) {
  await runCommand({ usage }, async () => {
    const readme = join(import.meta.dirname, "../README.md");
    writeFileSync(readme, withCosts(readFileSync(readme, "utf8"), settings, await synthesize()));
  });
}
