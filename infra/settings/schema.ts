import * as z from "zod";
import { isOrigin } from "../../lib/http/origins.ts";

const name = z.string().regex(/^[a-z][a-z0-9]{1,15}$/, "two to sixteen lower-case letters and digits");
const domain = z.string().regex(/^([a-z0-9-]+\.)+[a-z]{2,}$/, "a domain without scheme or path");
const origin = z.string().refine(isOrigin, "an origin as browsers write it");
/** The ARN of a certificate in ACM. */
const certificate = z.string().min(1);
/** One of the periods that CloudWatch Logs supports: 14, 30, 90, 400 and others. For the CDK 9999 days are for ever. */
const retentionDays = z.int().min(1).max(3_653);
/** A region's code: `eu-central-1`. With an empty one no copies would be made. */
const region = z.string().min(1);

/** Who gets alarms: an address, the ARN of an SNS topic, or several. A topic gets the alarms of its own region. */
const recipient = z.union([z.email(), z.string().regex(/^arn:[\w-]+:sns:[a-z0-9-]+:\d{12}:[\w-]+$/)]);
const recipients = z.union([recipient, z.array(recipient).min(1)], {
  error: "neither an address, nor the ARN of an SNS topic, nor a list of these",
});

const pipelineSettings = z.strictObject({
  /** The repository's name in the subjects of its tokens. Since July 2026 it contains numbers for new repositories. */
  repository: z
    .string()
    .regex(/^([\w.-]+\/[\w.-]+|[\w.-]+@\d+\/[\w.-]+@\d+)$/, "owner/name, or owner@number/name@number"),
  /** The ARN of GitHub's OIDC provider, if the account already has it: an account can have only one. */
  provider: z.string().optional(),
});

const accountSettings = z.strictObject({
  /** The account to deploy to. With credentials of another account the CDK deploys nothing. */
  id: z.string().regex(/^\d{12}$/, "twelve digits"),
  region,
  /** Lambda's limit of concurrent executions for the account and region (infra/first-day.md, "Concurrency"). */
  concurrency: z.int().min(10).optional(),
  /** Who gets an alarm when 80 % of what functions leave unreserved is in use. */
  alarmRecipient: recipients.optional(),
  /**
   * The account's budget. The recipient gets a mail at 80 %, at 100 %, and when the forecast is above 100 %; with
   * `anomalyMonitor` also each day that AWS finds that a service costs `anomalyDollars` more than usual.
   */
  budget: z
    .strictObject({
      dollarsAMonth: z.number().positive(),
      recipient: z.email(),
      anomalyDollars: z.number().positive().default(20),
      /** The ARN of the account's monitor of all services. No stack makes it, since an account has only one. */
      anomalyMonitor: z.string().startsWith("arn:").optional(),
    })
    .optional(),
  /** The GitHub repository whose workflows may deploy (infra/pipeline.md). */
  pipeline: pipelineSettings.optional(),
});

const backupLock = z.strictObject({
  /**
   * In `governance` mode, who may change the vault may take the lock away. In `compliance` mode no one can, AWS and
   * root included, `changeableForDays` after its deployment: neither shorten nor delete, until each copy's time is up.
   */
  mode: z.enum(["governance", "compliance"]),
  /** The vault refuses copies that are kept for less, and deletes none before. */
  daysMin: z.int().min(1).max(36_500),
  /** The vault refuses copies that are kept for longer. */
  daysMax: z.int().min(1).max(36_500).optional(),
  /** How long a lock in `compliance` mode can still be taken away; AWS allows no less than three days. */
  changeableForDays: z.int().min(3).max(36_500).default(7),
});

const databaseSettings = z.strictObject({
  name,
  /**
   * The qualifier of the CDK's bootstrap by whose roles this database and its stages are deployed (infra/pipeline.md,
   * "Pipeline"). With a pipeline each database has its own; without this setting it is the CDK's. A wildcard would let
   * the pipeline's role of one stage assume the CDK's roles of all.
   */
  qualifier: z
    .string()
    .regex(/^[a-z][a-z0-9]{0,9}$/, "one to ten lower-case letters and digits")
    .optional(),
  /** In Aurora capacity units (ACU), in steps of a half; one has about 2 GiB of memory. */
  capacityMin: z.number(),
  capacityMax: z.number(),
  /**
   * With `capacityMin: 0` the database pauses after this time without a request. The next request waits about 15 s.
   */
  pausesAfterMinutes: z.int().positive().optional(),
  /** Whether there is a second instance in another zone, which takes over when the first fails or restarts. */
  standby: z.boolean(),
  /** The database can be restored to any second of so many days. */
  backupRetentionDays: z.int().min(1).max(35),
  /**
   * When Aurora makes its own backup each day, in UTC; AWS asks for half an hour at least. At 2 o'clock, when the backup
   * begins that is copied, and in the hour after, that one would fail, which a mail tells.
   */
  backupWindow: z.string().default("00:00-00:30"),
  /** When AWS may restart instances for maintenance, in UTC, each week; not between 2 and 3 o'clock either. */
  maintenanceWindow: z.string().default("sun:04:30-sun:05:00"),
  /**
   * The two zones of the region that have the instances. Without this setting they are the first two that have a default
   * subnet, and others once AWS adds zones (CloudFormation, "Fn::GetAZs"). Other zones make other subnets, and the
   * database would have to be restored into them.
   */
  zones: z.tuple([z.string(), z.string()]).optional(),
  /** Another region, to which a backup is copied each night. It is kept there for `backupRetentionDays`. */
  backupRegion: region.optional(),
  /**
   * A drill each month, on this day (UTC): in `backupRegion` AWS Backup restores the newest copy and deletes it again, and
   * a mail says how that went.
   */
  drill: z.strictObject({ day: z.int().min(1).max(28), hour: z.int().min(0).max(23).default(8) }).optional(),
  /** Locks the vault in `backupRegion`, so that an intruder with all rights cannot delete the copies. */
  backupLock: backupLock.optional(),
  /** Protects the database from deletion, and keeps its data when the stack is deleted. */
  isProtected: z.boolean(),
  /**
   * The snapshot from which the cluster was restored. Never remove or change it, except to restore (infra/restore.md,
   * "Restore").
   */
  snapshot: z.string().min(1).optional(),
  /** The cluster from which it was restored, and to which second. Never remove or change it, except to restore. */
  restore: z.strictObject({ cluster: z.string().min(1), time: z.iso.datetime({ precision: 0 }) }).optional(),
  /**
   * Lets a deployment replace the database by an empty one. Without this setting, a deployment that finds an empty
   * database where another one was before fails, and the other one stays.
   */
  mayBeEmpty: z.boolean().default(false),
  /**
   * The slug of a contributor who is public and remains so. Without them every smoke test fails, so an empty or another
   * database is noticed.
   */
  knownContributor: z.string().min(1).optional(),
  logRetentionDays: retentionDays,
  /** For how long CloudTrail's record of operators' invocations is kept. Without this setting there is no record. */
  trailRetentionDays: z.int().min(1).max(3_650).optional(),
  alarmRecipient: recipients,
});

/** A token bucket: requests per second, and its size. With 0 for both, all requests get a response 429. */
const throttle = z.strictObject({ rate: z.number().min(0), burst: z.int().min(0) });

/** A limit of AWS WAF, which counts the requests of the last five minutes; the least is 10. */
const requestsIn5Minutes = z.int();

const firewallSettings = z.strictObject({
  requestsPerAddressIn5Minutes: requestsIn5Minutes,
  /** For requests for lists without a `limit`, or with one above 999: such a list can take minutes. */
  unlimitedListsPerAddressIn5Minutes: requestsIn5Minutes,
  /** For requests to sign in; each sign-in makes two. Only on a stage with `signIn`. */
  signInsPerAddressIn5Minutes: requestsIn5Minutes.default(100),
  /** IP ranges whose requests are not counted, for example of a website's server or of an office: `192.0.2.1/32`. */
  trustedAddresses: z.array(z.string()).optional(),
  /** How many requests CloudFront's firewall may block in five minutes before an alarm fires, twice in a row. */
  blockedRequestsIn5Minutes: z.int().positive().default(100),
  /** Gives each distribution a web ACL of its own, as CloudFront's flat-rate plans need it (infra/costs.md). */
  flatRatePlan: z.boolean().optional(),
});

/** The reserved concurrency of each function of a kind; null for none, in an account that has too little. */
const reserved = z.int().positive().nullable();

/** An https URL without credentials, query and fragment. */
const page = z
  .url({ protocol: /^https$/ })
  .refine((text) => !/[?#@]/.test(text), "an https URL without user, query and fragment");

/** Signing in by OpenID Connect (lib/sign-in/README.md). */
const signInSettings = z.strictObject({
  /** The provider, exactly as it names itself in `issuer` of its discovery document, with or without a slash at the end. */
  issuer: page,
  /** By which the provider knows this stage. */
  clientId: z.string().min(1).max(255),
  /** The secret with the client's secret, as plain text. Secrets Manager adds six characters to its name. */
  clientSecretArn: z
    .string()
    .regex(
      /^arn:aws:secretsmanager:[a-z0-9-]+:\d{12}:secret:[\w/+=.@-]+-[A-Za-z0-9]{6}$/,
      "a secret's whole ARN in Secrets Manager",
    ),
  /** Where browsers are sent after a sign-in. Its origin is one of `allowedOrigins`. */
  panel: page,
  /** How long a session lasts. */
  sessionDays: z.int().min(1).max(365),
  /** When browsers send the session's cookie; `none` is for a panel on another site than the API. */
  sameSite: z.enum(["lax", "strict", "none"]).default("lax"),
  /** Gives the session's cookie to all hosts of this domain, for a panel whose server needs it, too. */
  cookieDomain: domain.optional(),
  /** How often people may begin to sign in, and come back, at once: each waits for the provider, which may be slow. */
  concurrent: reserved.default(10),
});

const stageSettings = z.strictObject({
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
  imageCertificate: certificate.optional(),
  /** Another region, to whose bucket images are replicated as they are uploaded and deleted; only with `uploads`. */
  imageBackupRegion: region.optional(),
  /** CloudFront in front of the API, with its own domain: it caches public reads and forwards everything else. */
  edge: z
    .strictObject({
      domain,
      /** In us-east-1, too. */
      certificate,
      /**
       * How many paths may be invalidated in a day; each tag is one. Beyond that changes are visible after ten minutes.
       * What is to be invalidated is looked for every minute, so the database of a stage with an edge may not pause.
       */
      invalidationsADay: z.int().positive().default(3_000),
      /** How long CloudFront keeps a response that is not invalidated. */
      sharedCacheSeconds: z.int().min(60).max(86_400).default(3_600),
      /** How often visitors may call all methods together, and as often all else; `throttles` limits each method. */
      throttle: throttle.default({ rate: 1_000, burst: 2_000 }),
      /** The number of the keys that CloudFront sends to the API. The next one changes it (infra/edge.md). */
      key: z.int().positive().default(1),
    })
    .optional(),
  /**
   * Whether the distributions have `edge.domain` and `imageDomain` as aliases. False while those of a lost region still
   * have them: CloudFront gives an alias to one distribution only (infra/restore.md, "A lost region").
   */
  hasAliases: z.boolean().default(true),
  /**
   * Where the reference is (`npm run reference`). The 404 of unknown routes links to it. API Gateway takes the address
   * between quotes.
   */
  reference: z
    .url({ protocol: /^https$/, error: "an https address" })
    .regex(/^[!-&(-;=?-~]*$/)
    .optional(),
  /**
   * A custom domain of API Gateway. Without it the API has the domain that API Gateway gives it. A stage with an edge
   * does not need it, except while the domain moves to the edge (infra/edge.md).
   */
  domain: z.strictObject({ name: domain, certificate }).optional(),
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
    /** Signing in, which everybody may begin, and signing out. */
    signIn: throttle.default({ rate: 5, burst: 20 }),
  }),
  /**
   * How many lists of each kind may run at once, and how long one may take. With an edge whole public lists, without a
   * `limit`, have functions of their own, so that slow readers of these keep nobody from a page.
   */
  streams: z
    .strictObject({
      concurrent: reserved.default(5),
      wholeConcurrent: z.int().positive().default(5),
      secondsMax: z.int().min(30).max(900).default(120),
    })
    .prefault({}),
  /** How many reads of each kind of public record may run at once; each ends within 8 s. */
  publicRecords: z.strictObject({ concurrent: reserved.default(14) }).prefault({}),
  /** How many updates and removals of images may run at once, for each of the four functions; only with `uploads`. */
  images: z.strictObject({ concurrent: reserved.default(5) }).prefault({}),
  /** How people sign in. Without it the stage responds to `/sign-in` and `/sign-out` 503, and has no such functions. */
  signIn: signInSettings.optional(),
  /** Sends public requests to the stage's API regularly; an alarm fires when a response is wrong. */
  smoke: z.strictObject({ everyMinutes: z.int().min(1).max(60) }).optional(),
  /** AWS WAF in front of CloudFront, or else of the API. Without it only the throttles protect the API. */
  firewall: firewallSettings.optional(),
  isProtected: z.boolean(),
  logRetentionDays: retentionDays,
  /** How many days the ledger of changes is kept. */
  changesRetentionDays: z.int().min(1).max(3_650),
  /** How much the ledger may grow in a day before an alarm fires. */
  ledgerGigabytesADay: z.number().positive().default(1),
  /**
   * The traffic that the stage is for, in millions of requests a month, the edge's included. Alarms fire at ten times as
   * many in an hour; and behind an edge, which keeps most from the API, at as many in five minutes.
   */
  millionRequestsAMonth: z.number().positive().default(100),
  /** How much CloudFront may send in an hour, images included, before an alarm fires. */
  cdnGigabytesAnHour: z.number().positive().default(20),
  /** Where CloudFront has edge locations; those outside the United States and Europe cost more (infra/costs.md). */
  priceClass: z.enum(["100", "200", "all"]).default("all"),
  alarmRecipient: recipients,
});

/** What each setting may be by itself; checks.ts looks at several together. */
export const shape = z.strictObject({
  account: accountSettings,
  databases: z.array(databaseSettings),
  stages: z.array(stageSettings),
});

/** The settings as stages.ts has them. */
export type Stages = z.input<typeof shape>;
/** Settings that have been checked. */
export type Settings = z.infer<typeof shape>;
export type AccountSettings = z.infer<typeof accountSettings>;
export type PipelineSettings = z.infer<typeof pipelineSettings>;
export type DatabaseSettings = z.infer<typeof databaseSettings>;
export type BackupLock = z.infer<typeof backupLock>;
export type StageSettings = z.infer<typeof stageSettings>;
export type EdgeSettings = NonNullable<StageSettings["edge"]>;
export type FirewallSettings = z.infer<typeof firewallSettings>;
export type SignInSettings = z.infer<typeof signInSettings>;
export type Throttle = z.infer<typeof throttle>;
