import type { Settings } from "../stages.ts";
import { type Costs, costsOf, type Row, totals } from "./calculate.ts";
import { prices, pricesOf } from "./prices.ts";
import { assumptions, requestKinds } from "./requests.ts";
import { count, listed } from "./terms.ts";

/** What these settings cost, as Markdown. */
export function renderCosts({ databases, stages }: Settings): string {
  const costs = stages.flatMap((stage) => {
    const database = databases.find(({ name }) => name === stage.database);
    return database ? [{ stage, database, ...costsOf(stage, database) }] : [];
  });
  const used = new Map(costs.map((each) => [each.database.name, each.ofDatabase]));
  return [
    ...[...used].map(([name, rows]) => {
      return titled(`### A month of database \`${name}\``, ["at rest", "at its limit"], rows);
    }),
    ...costs.map(({ stage, ofStage }) => {
      return titled(`### A month of stage \`${stage.name}\`, before any request`, ["a month"], ofStage);
    }),
    ...costs.map(({ stage, requests }) => {
      return [`### A million requests to stage \`${stage.name}\``, ...requests.map(ofMillion)].join("\n\n");
    }),
    assumptionTables,
    priceTable,
  ].join("\n\n");
}

const ofMillion = ({ name, rows }: Costs["requests"][number]): string =>
  titled(`A million times: ${name}`, rows[0]?.amounts.length === 1 ? ["CDN"] : ["REST API", "HTTP API"], rows);

function titled(title: string, columns: readonly string[], rows: readonly Row[]): string {
  const sums = totals(rows);
  return [
    title,
    "",
    `| | arithmetic | ${columns.join(" | ")} |`,
    `|---|---|${columns.map(() => "---:|").join("")}`,
    ...rows.map(({ what, arithmetic, amounts }) => `| ${what} | ${arithmetic} | ${cells(amounts)} |`),
    `| **together** | | ${cells(sums)} |`,
  ].join("\n");
}

const cells = (amounts: readonly (number | undefined)[]): string => amounts.map(dollars).join(" | ");

const dollars = (amount: number | undefined): string =>
  amount === undefined
    ? "none"
    : `$${amount.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;

const quantity = (value: number, unit: string): string =>
  unit ? `${count(value)} ${unit}` : `${count(100 * value)} %`;

const assumptionTables = [
  "### What is assumed",
  "",
  "| how much | of what |",
  "|---:|---|",
  ...Object.values(assumptions).map(({ value, unit, what }) => `| ${quantity(value, unit)} | ${what} |`),
  "",
  "| request | calls | KB a call | vCPU ms | other ms | KB received | KB sent | writes |",
  "|---|---:|---:|---:|---:|---:|---:|---:|",
  ...requestKinds.map(({ name, isImage, ...numbers }) => {
    const { calls, callKilobytes, cpuMilliseconds, waitMilliseconds, requestKilobytes, answerKilobytes, writes } =
      numbers;
    const shown = [calls, callKilobytes, cpuMilliseconds, waitMilliseconds, requestKilobytes, answerKilobytes, writes];
    return `| ${[name, ...shown.map(count)].join(" | ")} |`;
  }),
].join("\n");

const priceTable = [
  `### Prices in ${pricesOf.region}, looked up on ${pricesOf.day}`,
  "",
  "| what | price | per | by AWS itself | source |",
  "|---|---:|---|---|---|",
  ...Object.values(prices).map((price) => {
    return `| ${price.what} | ${listed(price)} | ${price.per} | ${price.isFromAws ? "yes" : "no"} | ${price.source} |`;
  }),
].join("\n");
