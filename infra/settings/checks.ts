import { getDomain } from "tldts";
import { isNavigation, isPublicRecord } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import type { Settings, StageSettings } from "./schema.ts";

/** What is wrong with settings that are each fine alone, and where. */
interface Issue {
  readonly path?: readonly (string | number)[];
  readonly message: string;
}

/** A copy of an image survives its region. AWS itself refuses copies of backups in the region of the database. */
const checkCopies = ({ account, stages }: Settings): Issue[] =>
  stages.flatMap(({ imageBackupRegion }, index) => {
    const message = "copies of images in the region of the stage itself";
    return imageBackupRegion === account.region ? [{ path: ["stages", index, "imageBackupRegion"], message }] : [];
  });

const lists = endpoints.filter(({ response }) => "list" in response).length;
const publicRecords = endpoints.filter(isPublicRecord).length;
const imageChanges = endpoints.filter(({ needsFileService }) => needsFileService).length;
const navigations = endpoints.filter(isNavigation).length;
/** Lambda keeps this much for functions without reserved concurrency ("Configuring reserved concurrency"). */
const unreservedMin = 100;

const reservedBy = (stage: StageSettings): number =>
  lists * (stage.streams.concurrent ?? 0) +
  publicRecords * (stage.publicRecords.concurrent ?? 0) +
  imageChanges * (stage.uploads ? (stage.images.concurrent ?? 0) : 0) +
  navigations * (stage.signIn?.concurrent ?? 0) +
  (invalidationsAtOnce(stage) ?? 0);

/**
 * The reserved concurrency of `ops-invalidate`, if there is an edge: for one run, for those that find it at work and end
 * at once, and for operators. None in an account that has too little for what visitors read.
 */
export const invalidationsAtOnce = ({ edge, publicRecords }: StageSettings): number | null =>
  edge && publicRecords.concurrent !== null ? 5 : null;

/** The reserved concurrency of all functions of these stages. */
export const reservedConcurrency = (stages: readonly StageSettings[]): number =>
  stages.reduce((sum, each) => sum + reservedBy(each), 0);

/** The account has room for what all stages reserve, and for all other functions. */
function checkConcurrency({ account: { concurrency = 0 }, stages }: Settings): Issue[] {
  const reserved = reservedConcurrency(stages);
  if (reserved === 0 || reserved + unreservedMin <= concurrency) return [];
  const message = `stages reserve ${reserved}, and ${unreservedMin} are for the rest: raise it, or set concurrent to null`;
  return [{ path: ["account", "concurrency"], message }];
}

/** The smoke test and the sweep of an edge's stale tags ask the database every few minutes. */
const checkPauses = ({ databases, stages }: Settings): Issue[] =>
  stages.flatMap((stage, index) =>
    databases.some(({ name, capacityMin }) => name === stage.database && capacityMin === 0)
      ? (["smoke", "edge"] as const)
          .filter((setting) => stage[setting])
          .map((setting) => ({
            path: ["stages", index, setting],
            message: "would keep a database awake that should pause: give it a capacityMin of 0.5, or leave this out",
          }))
      : [],
  );

/** The role that deploys a stage must not deploy another one by the roles of the CDK; those on one database share it. */
const checkQualifiers = ({ account, databases }: Settings): Issue[] => {
  const qualifiers = databases.map(({ qualifier }) => qualifier ?? cdkQualifier);
  if (!account.pipeline || (areUnique(qualifiers) && !qualifiers.includes(cdkQualifier))) return [];
  return [{ path: ["databases"], message: "with account.pipeline each database has a qualifier of its own" }];
};

/** By which the CDK deploys what has no qualifier. */
const cdkQualifier = "hnb659fds";

/** The databases of these stages differ. */
const areAlone = (stages: readonly StageSettings[]) => areUnique(stages.map(({ database }) => database));

/** Stages that share a database agree on a setting. */
const agree =
  (setting: "imageDomain" | "changesRetentionDays") =>
  ({ stages }: Settings): boolean =>
    [...Map.groupBy(stages, ({ database }) => database).values()].every(
      (sharing) => new Set(sharing.map((each) => each[setting])).size === 1,
    );

/**
 * What holds for all stages together, by what is wrong where it does not. What is to be invalidated is in the database
 * once; the image keys and the list of images to remove belong to one bucket and one domain; and the `ops-tidy` of each
 * stage deletes old changes.
 */
const rules: Readonly<Record<string, (settings: Settings) => boolean>> = {
  // No stack would be made for it.
  "a stage names a database that is not there": ({ databases, stages }) =>
    stages.every(({ database }) => databases.some(({ name }) => name === database)),
  "two stages with an edge share a database": ({ stages }) => areAlone(stages.filter(({ edge }) => edge)),
  "two stages with uploads share a database": ({ stages }) => areAlone(stages.filter(({ uploads }) => uploads)),
  "stages of one database differ in imageDomain": agree("imageDomain"),
  "stages of one database differ in changesRetentionDays": agree("changesRetentionDays"),
};

const checkRules = (settings: Settings): Issue[] =>
  Object.entries(rules).flatMap(([message, holds]) => (holds(settings) ? [] : [{ message }]));

/** What concerns the panel, the session's cookie, and the secret of the client that signs people in. */
const checkSignIn = ({ account, stages }: Settings): Issue[] =>
  stages.flatMap((stage, index) => {
    if (!stage.signIn) return [];
    const { panel, clientSecretArn, sameSite, cookieDomain } = stage.signIn;
    const [, , , region, owner] = clientSecretArn.split(":");
    const apiDomain = stage.edge?.domain ?? stage.domain?.name;
    const isOneSite = apiDomain !== undefined && siteOf(apiDomain) === siteOf(new URL(panel).hostname);
    const isOutside = cookieDomain !== undefined && !`.${apiDomain}`.endsWith(`.${cookieDomain}`);
    const isShared = cookieDomain !== undefined && getDomain(cookieDomain, { allowPrivateDomains: true }) === null;
    const found: readonly (readonly [isWrong: boolean, setting: string, message: string])[] = [
      [!stage.allowedOrigins.includes(new URL(panel).origin), "panel", "its origin is none of allowedOrigins"],
      [
        region !== account.region || owner !== account.id,
        "clientSecretArn",
        `a secret of account ${owner} in ${region}, not of the account and region above`,
      ],
      [
        sameSite !== "none" && !isOneSite,
        "sameSite",
        "browsers would not send the cookie, as panel and API are on different sites: none",
      ],
      [
        sameSite === "none" && isOneSite,
        "sameSite",
        "panel and API are on one site, where none protects less, and does not help",
      ],
      [isOutside, "cookieDomain", `the API's domain, ${apiDomain ?? "which is API Gateway's"}, is not within it`],
      [isShared, "cookieDomain", "browsers take no cookie for a domain under which others have theirs"],
    ];
    return found.flatMap(([isWrong, setting, message]) =>
      isWrong ? [{ path: ["stages", index, "signIn", setting], message }] : [],
    );
  });

/** The domain whose hosts are one site for browsers: they have the same list of the suffixes under which others register. */
const siteOf = (host: string) => getDomain(host, { allowPrivateDomains: true }) ?? host;

const areUnique = (names: readonly string[]) => new Set(names).size === names.length;

/** What CloudFormation cannot see, or would see only when half of a deployment is done: money, data and access. */
export const checks: readonly ((settings: Settings) => Issue[])[] = [
  checkCopies,
  checkConcurrency,
  checkPauses,
  checkRules,
  checkQualifiers,
  checkSignIn,
];
