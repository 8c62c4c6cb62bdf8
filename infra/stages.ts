import * as z from "zod";
import { endpoints } from "../lib/contract/endpoints.ts";

/*
 * All settings in which deployments differ. The account, domains and certificates below are examples: replace them by
 * your own before you deploy.
 */

const name = z.string().regex(/^[a-z][a-z0-9]{1,15}$/, "two to sixteen lower-case letters and digits");
const domain = z.string().regex(/^([a-z0-9-]+\.)+[a-z]{2,}$/, "a domain without scheme or path");
const origin = z.url().refine((url) => url === URL.parse(url)?.origin, "an origin as browsers write it");
const certificateIn = (region: string) =>
  z.string().regex(new RegExp(`^arn:aws:acm:${region}:\\d{12}:certificate/[\\w-]+$`), "an ACM certificate's ARN");
/** IP ranges as AWS WAF accepts them; it does not accept `/0`. */
const addresses = z
  .union([z.cidrv4(), z.cidrv6()], "addresses such as 192.0.2.0/24, 192.0.2.1/32 or 2001:db8::/48")
  .refine((range) => !range.endsWith("/0"), "not everywhere");
/** The retention periods that CloudWatch Logs supports, in days. */
const retentionDays = z.literal([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731]);

/** Aurora scales in steps of half an ACU, up to 256. */
const capacity = z.number().min(0).max(256).multipleOf(0.5);

const region = z.string().regex(/^[a-z]{2,4}(-[a-z]+)+-\d$/, "a region's code, such as eu-central-1");

const pipelineSettings = z.strictObject({
  /** The repository's name in the subjects of its tokens. Since July 2026 it contains numbers for new repositories. */
  repository: z
    .string()
    .regex(/^([\w.-]+\/[\w.-]+|[\w.-]+@\d+\/[\w.-]+@\d+)$/, "owner/name, or owner@number/name@number"),
  /** The ARN of GitHub's OIDC provider, if the account already has it: an account can have only one. */
  provider: z
    .string()
    .regex(/^arn:aws:iam::\d{12}:oidc-provider\/token\.actions\.githubusercontent\.com$/, "GitHub's provider in IAM")
    .optional(),
});

const accountSettings = z
  .strictObject({
    /** The account to deploy to. With credentials of another account the CDK deploys nothing. */
    id: z.string().regex(/^\d{12}$/, "twelve digits"),
    region,
    /** Lambda's limit of concurrent executions for the account and region (infra/README.md, "Concurrency"). */
    concurrency: z.int().min(10).optional(),
    /** Who gets a mail when 80 % of that limit are in use. */
    alarmRecipient: z.email().optional(),
    /** The account's budget. The recipient gets a mail at 80 %, at 100 %, and when the forecast is above 100 %. */
    budget: z.strictObject({ dollarsAMonth: z.number().positive(), recipient: z.email() }).optional(),
    /** The GitHub repository whose workflows may deploy (infra/README.md, "Pipeline"). */
    pipeline: pipelineSettings.optional(),
  })
  .refine((it) => (it.concurrency === undefined) === (it.alarmRecipient === undefined), {
    error: "concurrency and alarmRecipient go together",
  })
  .refine(({ id, pipeline }) => !pipeline?.provider || pipeline.provider.split(":")[4] === id, {
    path: ["pipeline", "provider"],
    error: "a provider of another account",
  });

const databaseSettings = z
  .strictObject({
    name,
    /** In Aurora capacity units (ACU); one has about 2 GiB of memory. */
    capacityMin: capacity,
    capacityMax: capacity.min(1),
    /**
     * With `capacityMin: 0` the database pauses after this time without a request. The next request waits about 15 s.
     */
    pausesAfterMinutes: z.int().min(5).max(1_440).optional(),
    /** Whether there is a second instance in another zone, which takes over when the first fails or restarts. */
    standby: z.boolean(),
    /** The database can be restored to any second of so many days. */
    backupDays: z.int().min(1).max(35),
    /** Another region, to which a backup is copied each night. It is kept there for `backupDays`. */
    backupRegion: region.optional(),
    /** Protects the database from deletion, and keeps its data when the stack is deleted. */
    isProtected: z.boolean(),
    /**
     * The snapshot from which the cluster was restored. Never remove or change it, except to restore (README,
     * "Restore").
     */
    snapshot: z.string().min(1).optional(),
    logRetentionDays: retentionDays,
    /** For how long CloudTrail's record of operators' invocations is kept. Without this setting there is no record. */
    trailKeptDays: z.int().min(1).max(3_650).optional(),
    alarmRecipient: z.email(),
  })
  .refine((it) => it.capacityMin <= it.capacityMax, "capacityMin is above capacityMax")
  .refine((it) => (it.capacityMin === 0) === (it.pausesAfterMinutes !== undefined), {
    error: "a database pauses exactly when its capacityMin is 0",
  });

/** A token bucket: requests per second, and its size. With 0 for both, all requests are answered 429. */
const throttle = z.strictObject({ rate: z.number().min(0), burst: z.int().min(0) });

/** A limit of AWS WAF, which counts the requests of the last five minutes. */
const requestsIn5Minutes = z.int().min(10).max(2_000_000_000);

const firewallSettings = z
  .strictObject({
    requestsPerAddressIn5Minutes: requestsIn5Minutes,
    /** For requests for lists without a `limit`, or with one above 999: such a list can take minutes. */
    wholeListsPerAddressIn5Minutes: requestsIn5Minutes,
    /** Addresses whose requests are not counted, for example of a website's server or of an office. */
    trustedAddresses: z.array(addresses).min(1).max(10_000).optional(),
  })
  .refine((it) => it.wholeListsPerAddressIn5Minutes <= it.requestsPerAddressIn5Minutes, {
    error: "wholeListsPerAddressIn5Minutes is above requestsPerAddressIn5Minutes",
  });

const stageSettings = z
  .strictObject({
    name,
    /** The name of the stage's database; several stages may share one. */
    database: name,
    /** The origins of pages that may call administrative endpoints with the user's cookie. */
    allowedOrigins: z.array(origin).min(1),
    /** The domain that serves images. */
    imageDomain: domain,
    /** Whether this stage accepts image uploads. If so, it has the bucket and the CDN of `imageDomain`. */
    uploads: z.boolean(),
    /** The certificate of `imageDomain`. CloudFront accepts certificates from us-east-1 only. */
    imageCertificate: certificateIn("us-east-1").optional(),
    /** CloudFront in front of the API, with its own domain: it caches public reads and forwards everything else. */
    edge: z.strictObject({ domain, certificate: certificateIn("us-east-1") }).optional(),
    /**
     * A custom domain of API Gateway. Without it the API has the domain that API Gateway gives it. A stage with an edge
     * does not need it, except while the domain moves to the edge (infra/README.md, "The edge").
     */
    domain: z.strictObject({ name: domain, certificate: certificateIn("[a-z0-9-]+") }).optional(),
    /** The domain of the page that documents the interface. Without it only the local service shows that page. */
    reference: z.strictObject({ domain, certificate: certificateIn("us-east-1") }).optional(),
    /**
     * The throttles of each single method, by kind of endpoint. API Gateway has no limit for all methods of a stage
     * together (API Gateway, "Throttle requests to your REST APIs").
     */
    throttles: z.strictObject({
      preflights: throttle,
      lists: throttle,
      records: throttle,
      changes: throttle,
      images: throttle,
    }),
    /** How long a list may take, and how many of each kind may run at once. Without it only Lambda's limits apply. */
    streams: z
      .strictObject({
        /** The reserved concurrency of each function that answers lists. */
        concurrent: z.int().positive().optional(),
        secondsMax: z.int().min(30).max(900),
      })
      .optional(),
    /** Sends public requests to the stage's API regularly; an alarm fires when an answer is wrong. */
    smoke: z.strictObject({ everyMinutes: z.int().min(1).max(60) }).optional(),
    /** AWS WAF in front of the API. Without it only the throttles protect the API. */
    firewall: firewallSettings.optional(),
    /** New code first gets a tenth of the traffic, and is rolled back automatically when answers fail. */
    releasesGradually: z.boolean(),
    isProtected: z.boolean(),
    logRetentionDays: retentionDays,
    /** How many days the ledger of changes is kept. */
    changesKeptDays: z.int().min(1).max(3_650),
    /** How much the ledger may grow in a day before an alarm fires. */
    ledgerGigabytesADay: z.number().positive().default(1),
    alarmRecipient: z.email(),
  })
  .refine((it) => it.uploads === (it.imageCertificate !== undefined), "a stage has imageCertificate if it has uploads");

export type AccountSettings = z.infer<typeof accountSettings>;
export type PipelineSettings = z.infer<typeof pipelineSettings>;
export type DatabaseSettings = z.infer<typeof databaseSettings>;
export type StageSettings = z.infer<typeof stageSettings>;
export type FirewallSettings = z.infer<typeof firewallSettings>;
export type Throttle = z.infer<typeof throttle>;

const areUnique = (names: readonly string[]) => new Set(names).size === names.length;

/** Whether all stages of a database have the same value for a setting. */
const agreeOn =
  (setting: "imageDomain" | "changesKeptDays") =>
  ({ stages }: { readonly stages: readonly StageSettings[] }) =>
    new Set(stages.map((each) => `${each.database} ${each[setting]}`)).size ===
    new Set(stages.map((each) => each.database)).size;

const lists = endpoints.filter(({ answers }) => "list" in answers).length;
/**
 * Lambda keeps this much concurrency for functions without reserved concurrency ("Configuring reserved concurrency").
 */
const unreservedMin = 100;

/** The reserved concurrency of all list functions of these stages. */
const reservedBy = (stages: readonly StageSettings[]): number =>
  stages.reduce((sum, { streams }) => sum + lists * (streams?.concurrent ?? 0), 0);

/** All certificates in the settings, each with its path. */
function certificatesIn(value: unknown, path: readonly string[] = []): { path: readonly string[]; arn: string }[] {
  if (typeof value === "string") return value.startsWith("arn:aws:acm:") ? [{ path, arn: value }] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => certificatesIn(each, [...path, name]));
}

/** The domains that CloudFront serves for a stage. A domain can belong to one distribution only. */
const servedByCloudFront = ({ edge, reference, uploads, imageDomain }: StageSettings): string[] => [
  ...(edge ? [edge.domain] : []),
  ...(reference ? [reference.domain] : []),
  ...(uploads ? [imageDomain] : []),
];

export const settingsSchema = z
  .strictObject({
    account: accountSettings,
    databases: z.array(databaseSettings),
    stages: z.array(stageSettings),
  })
  .superRefine((value, context) => {
    for (const { path, arn } of certificatesIn(value)) {
      const owner = arn.split(":")[4];
      if (owner === value.account.id) continue;
      context.addIssue({
        code: "custom",
        path: [...path],
        message: `a certificate of account ${owner}, not of account.id`,
      });
    }
    for (const [index, { backupRegion }] of value.databases.entries()) {
      if (backupRegion !== value.account.region) continue;
      const path = ["databases", index, "backupRegion"];
      context.addIssue({ code: "custom", path, message: "copies of backups in the region of the database itself" });
    }
    for (const [index, { domain }] of value.stages.entries()) {
      const region = domain?.certificate.split(":")[3];
      if (region === undefined || region === value.account.region) continue;
      const path = ["stages", index, "domain", "certificate"];
      context.addIssue({ code: "custom", path, message: `a certificate in ${region}, not in account.region` });
    }
  })
  .superRefine(({ account: { concurrency }, databases, stages }, context) => {
    const reserved = reservedBy(stages);
    for (const [index, { streams, smoke, database }] of stages.entries()) {
      const addIssue = (path: readonly string[], message: string) =>
        context.addIssue({ code: "custom", path: ["stages", index, ...path], message });
      if (streams?.concurrent !== undefined && concurrency === undefined)
        addIssue(["streams", "concurrent"], "needs account.concurrency");
      if (streams?.concurrent !== undefined && concurrency !== undefined && reserved + unreservedMin > concurrency)
        addIssue(
          ["streams", "concurrent"],
          `a concurrency above the account's: ${reserved} for ${lists} kinds of lists and ${unreservedMin} for the rest`,
        );
      if (smoke && databases.some(({ name, capacityMin }) => name === database && capacityMin === 0))
        addIssue(["smoke"], "would keep a database awake that should pause");
    }
  })
  .refine(({ databases }) => areUnique(databases.map((each) => each.name)), "two databases have one name")
  .refine(({ stages }) => areUnique(stages.map((each) => each.name)), "two stages have one name")
  .refine(({ databases, stages }) => stages.every((each) => databases.some((it) => it.name === each.database)), {
    error: "a stage names a database that is not there",
  })
  .refine(({ stages }) => areUnique(stages.flatMap(servedByCloudFront)), {
    error: "two of edge.domain, reference.domain and imageDomain are the same",
  })
  // The database contains the image keys and the list of images to remove, so it has one bucket and one domain.
  .refine(({ stages }) => areUnique(stages.filter((each) => each.uploads).map((each) => each.database)), {
    error: "two stages with uploads share a database",
  })
  .refine(agreeOn("imageDomain"), { error: "stages of one database differ in imageDomain" })
  // The `ops-tidy` of each stage deletes old changes of the shared database.
  .refine(agreeOn("changesKeptDays"), { error: "stages of one database differ in changesKeptDays" });

export type Settings = z.infer<typeof settingsSchema>;

export const settings: Settings = settingsSchema.parse({
  account: {
    id: "123456789012",
    region: "eu-central-1",
    concurrency: 1_000,
    alarmRecipient: "colophon-alarms@example.com",
    budget: { dollarsAMonth: 500, recipient: "colophon-alarms@example.com" },
  },
  databases: [
    {
      name: "dev",
      capacityMin: 0,
      capacityMax: 2,
      pausesAfterMinutes: 10,
      standby: false,
      backupDays: 1,
      isProtected: false,
      logRetentionDays: 14,
      alarmRecipient: "colophon-dev@example.com",
    },
    {
      name: "prod",
      capacityMin: 0.5,
      capacityMax: 8,
      standby: true,
      backupDays: 14,
      backupRegion: "eu-west-1",
      isProtected: true,
      logRetentionDays: 90,
      trailKeptDays: 400,
      alarmRecipient: "colophon-alarms@example.com",
    },
  ],
  stages: [
    {
      name: "dev",
      database: "dev",
      allowedOrigins: ["https://admin.dev.example.com", "http://localhost:5173"],
      imageDomain: "images.dev.example.com",
      uploads: false,
      throttles: {
        preflights: { rate: 5, burst: 20 },
        lists: { rate: 2, burst: 10 },
        records: { rate: 5, burst: 20 },
        changes: { rate: 2, burst: 10 },
        images: { rate: 1, burst: 5 },
      },
      releasesGradually: false,
      isProtected: false,
      logRetentionDays: 14,
      changesKeptDays: 400,
      alarmRecipient: "colophon-dev@example.com",
    },
    {
      name: "prod",
      database: "prod",
      allowedOrigins: ["https://admin.example.com"],
      imageDomain: "images.example.com",
      uploads: true,
      imageCertificate: "arn:aws:acm:us-east-1:123456789012:certificate/00000000-0000-4000-8000-000000000001",
      edge: {
        domain: "api.example.com",
        certificate: "arn:aws:acm:us-east-1:123456789012:certificate/00000000-0000-4000-8000-000000000002",
      },
      reference: {
        domain: "docs.example.com",
        certificate: "arn:aws:acm:us-east-1:123456789012:certificate/00000000-0000-4000-8000-000000000003",
      },
      throttles: {
        preflights: { rate: 50, burst: 100 },
        lists: { rate: 100, burst: 200 },
        records: { rate: 500, burst: 1_000 },
        changes: { rate: 50, burst: 100 },
        images: { rate: 5, burst: 10 },
      },
      streams: { concurrent: 25, secondsMax: 120 },
      smoke: { everyMinutes: 5 },
      firewall: { requestsPerAddressIn5Minutes: 3_000, wholeListsPerAddressIn5Minutes: 30 },
      releasesGradually: true,
      isProtected: true,
      logRetentionDays: 90,
      changesKeptDays: 400,
      alarmRecipient: "colophon-alarms@example.com",
    },
  ],
});
