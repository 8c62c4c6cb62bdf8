import * as z from "zod";
import { endpoints } from "../lib/contract/endpoints.ts";

/*
 * Everything that differs between one deployment and another. The account, domains and certificates below are examples:
 * put your own in before you deploy.
 */

const name = z.string().regex(/^[a-z][a-z0-9]{1,15}$/, "two to sixteen lower-case letters and digits");
const domain = z.string().regex(/^([a-z0-9-]+\.)+[a-z]{2,}$/, "a domain without scheme or path");
const origin = z.url().refine((url) => url === URL.parse(url)?.origin, "an origin as browsers write it");
const certificateIn = (region: string) =>
  z.string().regex(new RegExp(`^arn:aws:acm:${region}:\\d{12}:certificate/[\\w-]+$`), "an ACM certificate's ARN");
/** Addresses as AWS WAF takes them; it knows no "everywhere". */
const addresses = z
  .union([z.cidrv4(), z.cidrv6()], "addresses such as 192.0.2.0/24, 192.0.2.1/32 or 2001:db8::/48")
  .refine((range) => !range.endsWith("/0"), "not everywhere");
/** The numbers of days that CloudWatch Logs knows. */
const retentionDays = z.literal([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731]);

/** Aurora scales in steps of half an ACU, up to 256. */
const capacity = z.number().min(0).max(256).multipleOf(0.5);

const region = z.string().regex(/^[a-z]{2,4}(-[a-z]+)+-\d$/, "a region's code, such as eu-central-1");

const pipelineSettings = z.strictObject({
  /** As the subjects of its tokens name it: since July 2026 new repositories have their numbers in there. */
  repository: z
    .string()
    .regex(/^([\w.-]+\/[\w.-]+|[\w.-]+@\d+\/[\w.-]+@\d+)$/, "owner/name, or owner@number/name@number"),
  /** The account's provider for GitHub's tokens, where there is one already: an account has no two. */
  provider: z
    .string()
    .regex(/^arn:aws:iam::\d{12}:oidc-provider\/token\.actions\.githubusercontent\.com$/, "GitHub's provider in IAM")
    .optional(),
});

const accountSettings = z
  .strictObject({
    /** The only account that anything is deployed to, whatever credentials are in the shell. */
    id: z.string().regex(/^\d{12}$/, "twelve digits"),
    region,
    /** How many functions run at once at most in account and region, whosever they are (infra/README.md, "Concurrency"). */
    concurrency: z.int().min(10).optional(),
    /** Who hears when that is nearly reached. */
    alarmRecipient: z.email().optional(),
    /** Of the whole account; who pays hears before and when it is spent. */
    budget: z.strictObject({ dollarsAMonth: z.number().positive(), recipient: z.email() }).optional(),
    /** Whose workflows on GitHub may deploy (infra/README.md, "Pipeline"). */
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
    /** In Aurora capacity units of about 2 GiB of memory each. */
    capacityMin: capacity,
    capacityMax: capacity.min(1),
    /** A database that may fall to 0 does so after this time without a request; the next one waits for some 15 s. */
    pausesAfterMinutes: z.int().min(5).max(1_440).optional(),
    /** A second instance in another zone, which takes over when the first fails or is restarted. */
    standby: z.boolean(),
    /** How far back the database can be restored to any second. */
    backupDays: z.int().min(1).max(35),
    /** Another region, to which a backup is copied each night; it is kept there for as long. */
    backupRegion: region.optional(),
    /** Nobody deletes it by accident, and its data outlive the stack. */
    isProtected: z.boolean(),
    /** The snapshot that the cluster began from; once set, it stays (README, "Restore"). */
    snapshot: z.string().min(1).optional(),
    logRetentionDays: retentionDays,
    /** For how long CloudTrail tells who invoked operators' functions; without it, it does not. */
    trailKeptDays: z.int().min(1).max(3_650).optional(),
    alarmRecipient: z.email(),
  })
  .refine((it) => it.capacityMin <= it.capacityMax, "capacityMin is above capacityMax")
  .refine((it) => (it.capacityMin === 0) === (it.pausesAfterMinutes !== undefined), {
    error: "a database pauses exactly when its capacityMin is 0",
  });

/** Requests a second, and how many may come at once (a token bucket); 0 of both refuses all. */
const throttle = z.strictObject({ rate: z.number().min(0), burst: z.int().min(0) });

/** AWS WAF counts the last five minutes. */
const requestsIn5Minutes = z.int().min(10).max(2_000_000_000);

const firewallSettings = z
  .strictObject({
    requestsPerAddressIn5Minutes: requestsIn5Minutes,
    /** Of requests for lists without a `limit`, or with one above 999: each may take a function for minutes. */
    wholeListsPerAddressIn5Minutes: requestsIn5Minutes,
    /** Whose requests are not counted: a website that renders pages on a server, or an office. */
    trustedAddresses: z.array(addresses).min(1).max(10_000).optional(),
  })
  .refine((it) => it.wholeListsPerAddressIn5Minutes <= it.requestsPerAddressIn5Minutes, {
    error: "wholeListsPerAddressIn5Minutes is above requestsPerAddressIn5Minutes",
  });

const stageSettings = z
  .strictObject({
    name,
    /** The name of its database; several stages may share one. */
    database: name,
    /** Pages that may call administrative endpoints with the user's cookie. */
    allowedOrigins: z.array(origin).min(1),
    /** Where images are served from. */
    imageDomain: domain,
    /** Whether this stage takes image uploads. Then it owns the bucket and the CDN behind `imageDomain`. */
    uploads: z.boolean(),
    /** For `imageDomain`; CloudFront takes certificates from us-east-1 only. */
    imageCertificate: certificateIn("us-east-1").optional(),
    /** CloudFront before the API, under a domain of its own: it keeps public reads, and passes everything else on. */
    edge: z.strictObject({ domain, certificate: certificateIn("us-east-1") }).optional(),
    /**
     * The domain of API Gateway itself, which otherwise names the API. A stage with an edge needs none, but keeps it
     * while the edge takes its name over.
     */
    domain: z.strictObject({ name: domain, certificate: certificateIn("[a-z0-9-]+") }).optional(),
    /** Where the reference of the interface is shown; without one it is shown on developers' machines only. */
    reference: z.strictObject({ domain, certificate: certificateIn("us-east-1") }).optional(),
    /**
     * Of every single method, by its kind: API Gateway has no limit for the methods of a stage together (API Gateway,
     * "Throttle requests to your REST APIs"). What has none of its own is a preflight.
     */
    throttles: z.strictObject({
      preflights: throttle,
      lists: throttle,
      records: throttle,
      changes: throttle,
      images: throttle,
    }),
    /** How long a list may take, and how many of each kind at once; without it all that Lambda allows. */
    streams: z
      .strictObject({
        /** Reserved for each function that gives lists: as many always can run, and no more. */
        concurrent: z.int().positive().optional(),
        secondsMax: z.int().min(30).max(900),
      })
      .optional(),
    /** Asks the stage's own API what everybody may ask, time and again, and tells when an answer is wrong. */
    smoke: z.strictObject({ everyMinutes: z.int().min(1).max(60) }).optional(),
    /** AWS WAF in front of the API; without it only the throttles protect it. */
    firewall: firewallSettings.optional(),
    /** New code gets a tenth of the traffic first, and goes back by itself when answers fail. */
    releasesGradually: z.boolean(),
    isProtected: z.boolean(),
    logRetentionDays: retentionDays,
    /** For how long the database tells who changed what. */
    changesKeptDays: z.int().min(1).max(3_650),
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

/** Whether the stages of each database have the same setting. */
const agreeOn =
  (setting: "imageDomain" | "changesKeptDays") =>
  ({ stages }: { readonly stages: readonly StageSettings[] }) =>
    new Set(stages.map((each) => `${each.database} ${each[setting]}`)).size ===
    new Set(stages.map((each) => each.database)).size;

const lists = endpoints.filter(({ answers }) => "list" in answers).length;
/** What Lambda leaves to all functions that have none reserved (Lambda, "Configuring reserved concurrency"). */
const unreservedMin = 100;

/** How many functions may run at once that nobody else's can take the place of. */
const reservedBy = (stages: readonly StageSettings[]): number =>
  stages.reduce((sum, { streams }) => sum + lists * (streams?.concurrent ?? 0), 0);

/** The certificates in settings, with the path of each. */
function certificatesIn(value: unknown, path: readonly string[] = []): { path: readonly string[]; arn: string }[] {
  if (typeof value === "string") return value.startsWith("arn:aws:acm:") ? [{ path, arn: value }] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => certificatesIn(each, [...path, name]));
}

/** The domains that CloudFront serves for a stage; none can belong to two distributions. */
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
  .superRefine((given, context) => {
    for (const { path, arn } of certificatesIn(given)) {
      const owner = arn.split(":")[4];
      if (owner === given.account.id) continue;
      context.addIssue({
        code: "custom",
        path: [...path],
        message: `a certificate of account ${owner}, not of account.id`,
      });
    }
    for (const [index, { backupRegion }] of given.databases.entries()) {
      if (backupRegion !== given.account.region) continue;
      const path = ["databases", index, "backupRegion"];
      context.addIssue({ code: "custom", path, message: "copies of backups in the region of the database itself" });
    }
    for (const [index, { domain }] of given.stages.entries()) {
      const region = domain?.certificate.split(":")[3];
      if (region === undefined || region === given.account.region) continue;
      const path = ["stages", index, "domain", "certificate"];
      context.addIssue({ code: "custom", path, message: `a certificate in ${region}, not in account.region` });
    }
  })
  .superRefine(({ account: { concurrency }, databases, stages }, context) => {
    const reserved = reservedBy(stages);
    for (const [index, { streams, smoke, database }] of stages.entries()) {
      const refuse = (path: readonly string[], message: string) =>
        context.addIssue({ code: "custom", path: ["stages", index, ...path], message });
      if (streams?.concurrent !== undefined && concurrency === undefined)
        refuse(["streams", "concurrent"], "needs account.concurrency");
      if (streams?.concurrent !== undefined && concurrency !== undefined && reserved + unreservedMin > concurrency)
        refuse(
          ["streams", "concurrent"],
          `a concurrency above the account's: ${reserved} for ${lists} kinds of lists and ${unreservedMin} for the rest`,
        );
      if (smoke && databases.some(({ name, capacityMin }) => name === database && capacityMin === 0))
        refuse(["smoke"], "would keep a database awake that is to pause");
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
  // Image keys and notes of images to remove lie in the database, so one bucket and one domain belong to it.
  .refine(({ stages }) => areUnique(stages.filter((each) => each.uploads).map((each) => each.database)), {
    error: "two stages with uploads share a database",
  })
  .refine(agreeOn("imageDomain"), { error: "stages of one database differ in imageDomain" })
  // Each of them tidies the database they share.
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
