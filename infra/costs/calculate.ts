import type { DatabaseSettings, StageSettings } from "../stages.ts";
import { prices } from "./prices.ts";
import { assumptions, type RequestKind, requestKinds } from "./requests.ts";
import * as terms from "./terms.ts";
import { million, product, type Term, times } from "./terms.ts";

/** A line of a table; amounts are in dollars, one for each column, and undefined where there is no such thing. */
export interface Row {
  readonly what: string;
  readonly arithmetic: string;
  readonly amounts: readonly (number | undefined)[];
}

export interface Costs {
  /** A million of each kind: on a REST API and on an HTTP API, or on the CDN. */
  readonly requests: readonly { readonly name: string; readonly rows: readonly Row[] }[];
  /** A month of the database, at rest and at its limit. */
  readonly ofDatabase: readonly Row[];
  /** A month of the stage, before any request. */
  readonly ofStage: readonly Row[];
}

/** What a stage and its database cost by these settings. */
export function costsOf(stage: StageSettings, database: DatabaseSettings): Costs {
  const kinds = requestKinds.filter(({ isImage }) => stage.uploads || !isImage);
  const requests = kinds.map((kind) => ({ name: kind.name, rows: requestRows(kind, stage) }));
  const views = stage.uploads ? [{ name: "image seen", rows: viewRows }] : [];
  return { requests: [...requests, ...views], ofDatabase: databaseRows(database), ofStage: stageRows(stage) };
}

/** The sums of a table's columns; undefined where the first row says that there is no such thing. */
export const totals = (rows: readonly Row[]): (number | undefined)[] =>
  (rows[0]?.amounts ?? []).map((first, column) =>
    first === undefined ? undefined : rows.reduce((sum, { amounts }) => sum + (amounts[column] ?? 0), 0),
  );

/** What the stacks give a function (endpoint.ts, api-stack.ts). */
export const memoryInMegabytes = { usual: 512, images: 1_769 } as const;

/** What the stacks have that costs by the month (database-stack.ts, watch.ts, firewall.ts). */
export const fixtures = {
  databaseAlarmMetrics: 2,
  /** The share of failing answers is made of two, and two watch what is scheduled on every stage. */
  stageAlarmMetrics: 6,
  /** That the removal of images runs, and that it does not fail. */
  uploadAlarmMetrics: 2,
  firewallRules: 2,
  /** Read from the access log: refused requests, and the latency of buffered answers. */
  logMetrics: 2,
} as const;

const row = (what: string, { text, dollars }: Term): Row => ({ what, arithmetic: text, amounts: [dollars] });
const both = (what: string, { text, dollars }: Term): Row => ({ what, arithmetic: text, amounts: [dollars, dollars] });
const either = (what: string, first: Term, second: Term): Row => ({
  what,
  arithmetic: `${first.text} or ${second.text}`,
  amounts: [first.dollars, second.dollars],
});
const onRestOnly = (what: string, { text, dollars }: Term): Row => ({
  what,
  arithmetic: text,
  amounts: [dollars, undefined],
});

function requestRows(kind: RequestKind, stage: StageSettings): Row[] {
  const rows = [gatewayRow(kind), ...lambdaRows(kind), ...dataRows(kind), ...watchRows(stage)];
  if (kind.answerKilobytes <= bufferedKilobytesMax) return rows;
  return rows.map(({ amounts: [rest], ...each }) => ({ ...each, amounts: [rest, undefined] }));
}

/** Beyond it a function must stream its answer, which no HTTP API takes (Lambda, quotas). */
const bufferedKilobytesMax = 6_000;

/** API Gateway counts requests by what they carry. */
const gatewayKilobytes = { rest: 10_000, http: 512 } as const;
const dataApiKilobytes = 32;

const begun = (kilobytes: number, unit: number): number => Math.max(1, Math.ceil(kilobytes / unit));

function gatewayRow({ requestKilobytes, answerKilobytes }: RequestKind): Row {
  const rest = product(prices.restRequest, million, times(begun(answerKilobytes, gatewayKilobytes.rest)));
  if (answerKilobytes > bufferedKilobytesMax) return onRestOnly("API Gateway", rest);
  const carried = Math.max(requestKilobytes, answerKilobytes);
  const http = product(prices.httpRequest, million, times(begun(carried, gatewayKilobytes.http)));
  return either("API Gateway", rest, http);
}

function lambdaRows(kind: RequestKind): Row[] {
  const memory = kind.isImage ? memoryInMegabytes.images : memoryInMegabytes.usual;
  const time = terms.milliseconds(millisecondsOf(kind, memory));
  const streamed = kind.answerKilobytes - bufferedKilobytesMax;
  return [
    both("Lambda, requests", product(prices.lambdaRequest, million)),
    both("Lambda, time", product(prices.lambdaTime, million, time, terms.megabytes(memory))),
    ...(streamed > 0 ? [both("Lambda, stream", product(prices.lambdaStream, million, terms.kilobytes(streamed)))] : []),
  ];
}

/** Lambda gives a whole vCPU with so much memory, and less in proportion. */
const megabytesOfOneCpu = 1_769;

/** For how long a request is billed on average: it waits and computes on its share of a vCPU, or is held up sending. */
export function millisecondsOf(kind: RequestKind, memory: number): number {
  const { dataApiCall, coldStart, coldShare, stream } = assumptions;
  const computing = kind.cpuMilliseconds / Math.min(1, memory / megabytesOfOneCpu);
  const working = kind.calls * dataApiCall.value + kind.waitMilliseconds + computing;
  const sending = Math.max(0, kind.answerKilobytes - bufferedKilobytesMax) / stream.value;
  return Math.round(Math.max(working, sending) + coldStart.value * coldShare.value);
}

function dataRows({ calls, callKilobytes, writes, isImage, answerKilobytes }: RequestKind): Row[] {
  const units = times(begun(callKilobytes, dataApiKilobytes));
  return [
    both("Data API", product(prices.dataApi, million, times(calls), units)),
    ...(writes > 0 ? [both("Aurora, writes", product(prices.io, million, times(writes)))] : []),
    ...(isImage ? objectRows : []),
    both("data sent", product(prices.transfer, million, terms.kilobytes(answerKilobytes))),
  ];
}

const objectRows: readonly Row[] = [
  both("S3, two objects", product(prices.put, million, times(2))),
  both("S3, a month of them", product(prices.object, million, terms.kilobytes(assumptions.imageKept.value))),
];

function watchRows({ firewall, logRetentionDays }: StageSettings): Row[] {
  const log = terms.kilobytes(assumptions.log.value);
  return [
    both("logs, taken in", product(prices.logs, million, log)),
    both("logs, kept", product(prices.logStorage, million, log, terms.months(logRetentionDays))),
    onRestOnly("traces", product(prices.trace, million, times(assumptions.traced.value))),
    ...(firewall ? [onRestOnly("firewall", product(prices.firewallRequest, million))] : []),
  ];
}

const viewRows: readonly Row[] = [
  row("CloudFront, requests", product(prices.cdnRequest, million)),
  row("CloudFront, data sent", product(prices.cdnTransfer, million, terms.kilobytes(assumptions.imageSent.value))),
];

function databaseRows({ capacityMin, capacityMax, backupDays }: DatabaseSettings): Row[] {
  const hours = terms.hours(assumptions.hours.value);
  const size = terms.gigabytes(assumptions.storage.value);
  return [
    either(
      "Aurora",
      product(prices.capacity, terms.capacityUnits(capacityMin), hours),
      product(prices.capacity, terms.capacityUnits(capacityMax), hours),
    ),
    both("storage", product(prices.storage, size)),
    both("backups", product(prices.backup, size, times(changedWithin(backupDays)))),
    both("secret", product(prices.secret)),
    both("alarms", product(prices.alarm, times(fixtures.databaseAlarmMetrics))),
  ];
}

/** Backups hold the database and its changes; as much as the database is free, and so is a single day. */
const changedWithin = (days: number): number => (days > 1 ? days * assumptions.changed.value : 0);

function stageRows({ uploads, firewall }: StageSettings): Row[] {
  const alarms = fixtures.stageAlarmMetrics + (uploads ? fixtures.uploadAlarmMetrics : 0);
  const rules = product(prices.firewallRule, times(fixtures.firewallRules));
  return [
    row("alarms", product(prices.alarm, times(alarms))),
    row("metrics from the access log", product(prices.metric, times(fixtures.logMetrics))),
    row("dashboard", product(prices.dashboard)),
    ...(firewall ? [row("firewall", product(prices.firewall)), row("firewall, rules", rules)] : []),
  ];
}
