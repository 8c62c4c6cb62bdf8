import { getDomain } from "tldts";
import { limitedRoles } from "../build/database-role.ts";
import { reservedConcurrency } from "./concurrency.ts";
import { connectionsNeeded, connectionsOf } from "./connections.ts";
import { isPlaceholder } from "./placeholders.ts";
import { isTopic, type Recipients, regionOf } from "./recipients.ts";
import type { DatabaseSettings, Settings, StageSettings } from "./schema.ts";

/** Where something may be wrong with settings that are each fine alone, and what: whether it is. */
type Checks = Readonly<Record<string, unknown>>;

interface Issue {
  readonly path: (string | number)[];
  readonly message: string;
}

/** What CloudFormation cannot see, or would see only when half of a deployment is done: money, data and access. */
export const issuesOf = (settings: Settings): Issue[] => [
  ...issuesAt([], checksOfAll(settings)),
  ...settings.databases.flatMap((each, index) =>
    issuesAt(["databases", index], {
      ...checksOfDatabase(each, settings.account.region),
      ...checksOfConnections(settings, each),
    }),
  ),
  ...settings.stages.flatMap((each, index) =>
    issuesAt(["stages", index], { ...checksOfStage(settings, each), ...checksOfSignIn(settings, each) }),
  ),
];

const issuesAt = (parent: (string | number)[], checks: Checks): Issue[] =>
  Object.entries(checks).flatMap(([text, isWrong]) => {
    const [, setting = "", message = ""] = /^([\w.]+): (.+)$/.exec(text) ?? [];
    return isWrong ? [{ path: [...parent, ...setting.split(".")], message }] : [];
  });

/** By which the CDK deploys what has no qualifier. */
const cdkQualifier = "hnb659fds";
/** Lambda keeps this much for functions without reserved concurrency ("Configuring reserved concurrency"). */
const unreservedMin = 100;

/** Alarms are where their metrics are, and reach topics of the same region alone. */
const reachNone = (recipients: Recipients, ...regions: readonly (string | undefined | false)[]): string[] =>
  regions.filter(
    (region): region is string =>
      typeof region === "string" && ![recipients].flat().some((each) => !isTopic(each) || regionOf(each) === region),
  );

const noRecipient = (regions: readonly string[]): Checks => ({
  [`alarmRecipient: alarms in ${regions.join(", ")} reach nobody: add a topic there, or an address`]:
    regions.length > 0,
});

function checksOfAll({ account, databases, stages }: Settings): Checks {
  const reserved = reservedConcurrency(stages);
  const { concurrency, alarmRecipient, pipeline } = account;
  const qualifiers = databases.map(({ qualifier }) => qualifier ?? cdkQualifier);
  const sharing = [...Map.groupBy(stages, ({ database }) => database).values()];
  const differ = (setting: "imageDomain" | "changesRetentionDays") =>
    sharing.some((some) => new Set(some.map((each) => each[setting])).size > 1);
  const share = (setting: "edge" | "uploads") =>
    sharing.some((some) => some.filter((each) => each[setting]).length > 1);
  return {
    "account: concurrency and alarmRecipient go together":
      (concurrency === undefined) !== (alarmRecipient === undefined),
    [`account.concurrency: stages reserve ${reserved}, and ${unreservedMin} are for the rest: raise it, or set concurrent to null`]:
      reserved > 0 && reserved + unreservedMin > (concurrency ?? 0),
    ...noRecipient(alarmRecipient === undefined ? [] : reachNone(alarmRecipient, account.region)),
    // The role that deploys a stage must not deploy another one by the roles of the CDK; those on one database share it.
    "databases: with account.pipeline each database has a qualifier of its own":
      pipeline && new Set([cdkQualifier, ...qualifiers]).size <= databases.length,
    // What is to be invalidated is in the database once.
    "stages: two stages with an edge share a database": share("edge"),
    // The image keys and the list of images to remove belong to one bucket and one domain.
    "stages: two stages with uploads share a database": share("uploads"),
    "stages: stages of one database differ in imageDomain": differ("imageDomain"),
    // The `ops-tidy` of each stage deletes old changes.
    "stages: stages of one database differ in changesRetentionDays": differ("changesRetentionDays"),
  };
}

function checksOfDatabase(settings: DatabaseSettings, region: string): Checks {
  const { snapshot, restore, capacityMin, pausesAfterMinutes, backupRegion, backupLock, drill, isProtected } = settings;
  const days = settings.backupRetentionDays;
  const { daysMin = days, daysMax = days } = backupLock ?? {};
  return {
    "restore: restored both from a snapshot and from a cluster": snapshot !== undefined && restore !== undefined,
    "pausesAfterMinutes: a database pauses exactly when its capacityMin is 0":
      (capacityMin === 0) !== (pausesAfterMinutes !== undefined),
    "backupLock: a lock of copies that are not made, or of a database that is not protected":
      backupLock && !(backupRegion && isProtected),
    "backupLock: the vault would refuse copies that are kept for backupRetentionDays": days < daysMin || daysMax < days,
    "drill: a drill restores the copy in backupRegion": drill && !backupRegion,
    ...noRecipient(reachNone(settings.alarmRecipient, region, drill && backupRegion)),
  };
}

/** Functions that may run at once must get connections, or they would be 503 while the database has room. */
function checksOfConnections({ stages }: Settings, database: DatabaseSettings): Checks {
  const users = stages.filter((stage) => stage.database === database.name);
  return Object.fromEntries(
    limitedRoles.map((role) => {
      const [needed, allowed] = [connectionsNeeded(role, users), connectionsOf(role, database)];
      const message = `functions that log in as ${role} may hold ${needed} connections, and get ${allowed}: raise it, or lower concurrent`;
      return [`capacityMax: ${message}`, needed > allowed];
    }),
  );
}

function checksOfStage({ account, databases }: Settings, stage: StageSettings): Checks {
  const { uploads, imageCertificate, imageBackupRegion, smoke, edge } = stage;
  const database = databases.find(({ name }) => name === stage.database);
  // The smoke test and the sweep of an edge's stale tags ask the database every few minutes.
  const pauses = database?.capacityMin === 0;
  const awake = "would keep a database awake that should pause: give it a capacityMin of 0.5, or leave this out";
  return {
    // No stack would be made for it.
    "database: a stage names a database that is not there": !database,
    [`smoke: ${awake}`]: pauses && smoke !== undefined,
    [`edge: ${awake}`]: pauses && edge !== undefined,
    "imageCertificate: a stage has imageCertificate if it has uploads": uploads !== (imageCertificate !== undefined),
    "imageBackupRegion: a stage without uploads has no images": !uploads && imageBackupRegion !== undefined,
    // A copy of an image survives its region. AWS itself refuses copies of backups in the region of the database.
    ...noRecipient(reachNone(stage.alarmRecipient, account.region, (edge !== undefined || uploads) && "us-east-1")),
    "imageBackupRegion: copies of images in the region of the stage itself": imageBackupRegion === account.region,
  };
}

/** What concerns the panel, the session's cookie, and the secret of the client that signs people in. */
function checksOfSignIn({ account }: Settings, { signIn, edge, domain, allowedOrigins }: StageSettings): Checks {
  if (!signIn) return {};
  const { panel, clientSecretArn, sameSite, cookieDomain } = signIn;
  const [, , , region, owner] = clientSecretArn.split(":");
  const apiDomain = edge?.domain ?? domain?.name;
  const isOneSite = apiDomain !== undefined && siteOf(apiDomain) === siteOf(new URL(panel).hostname);
  return {
    "signIn.panel: its origin is none of allowedOrigins": !allowedOrigins.includes(new URL(panel).origin),
    [`signIn.clientSecretArn: a secret of account ${owner} in ${region}, not of the account and region above`]:
      !isPlaceholder(clientSecretArn) && (region !== account.region || owner !== account.id),
    "signIn.sameSite: browsers would not send the cookie, as panel and API are on different sites: none":
      sameSite !== "none" && !isOneSite,
    "signIn.sameSite: panel and API are on one site, where none protects less, and does not help":
      sameSite === "none" && isOneSite,
    [`signIn.cookieDomain: the API's domain, ${apiDomain ?? "which is API Gateway's"}, is not within it`]:
      cookieDomain !== undefined && !`.${apiDomain}`.endsWith(`.${cookieDomain}`),
    "signIn.cookieDomain: browsers take no cookie for a domain under which others have theirs":
      cookieDomain !== undefined && getDomain(cookieDomain, { allowPrivateDomains: true }) === null,
  };
}

/** The domain whose hosts are one site for browsers: they have the same list of the suffixes under which others register. */
const siteOf = (host: string) => getDomain(host, { allowPrivateDomains: true }) ?? host;
