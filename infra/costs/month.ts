import type { AccountSettings, DatabaseSettings, StageSettings } from "../settings/schema.ts";
import { prices } from "./prices.ts";

/** Dollars a month, by service. */
export type Lines = Readonly<Record<string, number>>;

/** The part of a synthesised template that costs are computed from. */
export interface Template {
  // biome-ignore lint/suspicious/noExplicitAny: templates are read at every depth
  readonly Resources: Readonly<Record<string, { readonly Type: string; readonly Properties: any }>>;
}

export interface Deployed {
  readonly account: AccountSettings;
  readonly stage: StageSettings;
  readonly database: DatabaseSettings;
  /** The templates of the stage and of its database. */
  readonly templates: readonly Template[];
}

/**
 * A month's requests: share, size of the answer, milliseconds of a vCPU (`npm run bench`; changes estimated), writes.
 */
export const mix = [
  { kind: "records", share: 0.79, kilobytes: 1, cpu: 5, databaseCpu: 0.9, writes: 0 },
  { kind: "lists", share: 0.2, kilobytes: 10, cpu: 7, databaseCpu: 2, writes: 0 },
  { kind: "changes", share: 0.01, kilobytes: 0.3, cpu: 5, databaseCpu: 3, writes: 5 },
] as const;

export const assumed = {
  hits: { value: 0.95, what: "of the reads are answered by the edge" },
  peak: { value: 3, what: "times the average come in the busiest seconds" },
  wait: { value: 20, what: "ms are for the Data API (17, as others measured it) and cold starts (300 for one in 100)" },
  vcpu: { value: 512 / 1_769, what: "of a vCPU belong to a function, which has 512 MB" },
  units: { value: 4, what: "ACU do the work of a vCPU that never rests (github.com/aws/agent-toolkit-for-aws)" },
  busy: { value: 0.5, what: "of its capacity is what Aurora uses when it neither grows nor shrinks" },
  log: { value: 1.2, what: "KB of logs are written for a request: by us, by Lambda, by API Gateway" },
  traced: { value: 0.05, what: "of the requests that get to the API are traced" },
  storage: { value: 10, what: "GB are in the database" },
  hours: { value: 730, what: "hours are a month" },
} as const;

type Kind = (typeof mix)[number];

/** Sums a value over those requests that reach the API. */
const over = (requests: number, hasEdge: boolean) => (of: (kind: Kind) => number) =>
  mix.reduce((all, kind) => {
    return all + of(kind) * requests * kind.share * (hasEdge && kind.kind !== "changes" ? 1 - assumed.hits.value : 1);
  }, 0);

const billedMilliseconds = ({ cpu }: Kind) => assumed.wait.value + cpu / assumed.vcpu.value;

/** Aurora's capacity in ACU for one request of a kind per second. */
const unitsFor = ({ databaseCpu }: Kind) => (databaseCpu / 1_000 / assumed.busy.value) * assumed.units.value;

export const perSecond = (millions: number) => (millions * 1_000_000) / (assumed.hours.value * 3_600);

const all = (templates: readonly Template[], type: string) =>
  templates.flatMap((each) => Object.values(each.Resources).filter(({ Type }) => Type === `AWS::${type}`));

/** The costs of a month of these stacks without any request. */
export function restOf(...templates: readonly Template[]): Lines {
  const clusters = all(templates, "RDS::DBCluster").map(({ Properties }) => Properties);
  const unitsMin =
    all(templates, "RDS::DBInstance").length * (clusters[0]?.ServerlessV2ScalingConfiguration.MinCapacity ?? 0);
  const managed = clusters.filter(({ ManageMasterUserPassword }) => ManageMasterUserPassword).length;
  const firewalls = all(templates, "WAFv2::WebACL");
  const rules = firewalls.flatMap(({ Properties }) => Properties.Rules).length;
  const watched = all(templates, "CloudWatch::Alarm").flatMap(({ Properties: { Metrics = [{ MetricStat: {} }] } }) =>
    Metrics.filter((each: object) => "MetricStat" in each),
  );
  return {
    "Aurora, `capacityMin` of each instance": unitsMin * assumed.hours.value * prices.capacity.dollars,
    "Aurora, storage": clusters.length * assumed.storage.value * prices.storage.dollars,
    secrets: (all(templates, "SecretsManager::Secret").length + managed) * prices.secret.dollars,
    keys: all(templates, "KMS::Key").length * prices.key.dollars,
    "firewalls and their rules": firewalls.length * prices.firewall.dollars + rules * prices.firewallRule.dollars,
    alarms: watched.length * prices.alarm.dollars,
    "metrics read from logs": all(templates, "Logs::MetricFilter").length * prices.metric.dollars,
    dashboards: all(templates, "CloudWatch::Dashboard").length * prices.dashboard.dollars,
  };
}

/** The costs of a month with so many million requests, with an edge or without. */
export function monthOf({ stage, database, templates }: Deployed, millions: number, hasEdge: boolean): Lines {
  const sum = over(millions, hasEdge);
  const reaching = sum(() => 1);
  const gigabytes = over(millions, false)(({ kilobytes }) => kilobytes);
  const logged = reaching * assumed.log.value;
  const grown = Math.max(0, perSecond(sum(unitsFor)) - database.capacityMin) * all(templates, "RDS::DBInstance").length;
  return {
    "at rest": Object.values(restOf(...templates)).reduce((total, each) => total + each, 0),
    "CloudFront, requests": hasEdge ? millions * prices.edgeRequest.dollars : 0,
    "CloudFront, functions": hasEdge && stage.firewall ? millions * prices.edgeFunction.dollars : 0,
    "CloudFront, data sent": hasEdge ? gigabytes * prices.edgeSent.dollars : 0,
    "API Gateway, requests": reaching * prices.gateway.dollars,
    "API Gateway, data sent": hasEdge ? 0 : gigabytes * prices.sent.dollars,
    "Lambda, requests": reaching * prices.lambdaRequest.dollars,
    "Lambda, time": (sum(billedMilliseconds) / 1_000) * 0.5 * prices.lambdaTime.dollars,
    "Data API": reaching * prices.dataApi.dollars,
    "Aurora above `capacityMin`, each instance": grown * assumed.hours.value * prices.capacity.dollars,
    "Aurora, writes": sum(({ writes }) => writes) * prices.io.dollars,
    "logs, taken in": logged * prices.logs.dollars,
    "logs, kept": logged * (stage.logRetentionDays / 30) * prices.logStorage.dollars,
    traces: reaching * assumed.traced.value * prices.trace.dollars,
    "firewall, requests": stage.firewall ? reaching * prices.firewallRequest.dollars : 0,
  };
}

/** The share of each limit that the peak of such a month uses, highest first. */
export function limitsOf({ account, stage, database }: Deployed, millions: number, hasEdge: boolean) {
  const sum = over(perSecond(millions) * assumed.peak.value, hasEdge);
  const ofKind = (name: Kind["kind"], of = (_: Kind) => 1) => sum((each) => (each.kind === name ? of(each) : 0));
  const shares = {
    ...Object.fromEntries(mix.map(({ kind }) => [`\`throttles.${kind}\``, ofKind(kind) / stage.throttles[kind].rate])),
    "`streams.concurrent`": ofKind("lists", billedMilliseconds) / 1_000 / (stage.streams?.concurrent ?? Infinity),
    "`capacityMax`": sum(unitsFor) / database.capacityMax,
    "`account.concurrency`": sum(billedMilliseconds) / 1_000 / (account.concurrency ?? 1_000),
    "API Gateway's 10,000 a second": sum(() => 1) / 10_000,
  };
  return Object.entries(shares).sort(([, one], [, other]) => other - one);
}
