import { describe, expect, it } from "vitest";
import type { DatabaseSettings, Settings, SignInSettings, StageSettings } from "../../../infra/settings/schema.ts";
import { settingsSchema } from "../../../infra/settings/settings.ts";
import { transferBucketOf } from "../../../infra/settings/transfer-bucket.ts";
import { settings } from "../../../infra/stages.ts";

/** Settings to be changed: the two stages and databases by name, and prod's sign-in. */
interface Draft extends Settings {
  readonly whole: Settings;
  readonly dev: StageSettings;
  readonly prod: StageSettings;
  readonly devDatabase: DatabaseSettings;
  readonly prodDatabase: DatabaseSettings;
  readonly signIn: SignInSettings;
}

type Change = (draft: Draft) => void;

/** The settings with one thing changed. */
function changed(change: Change): unknown {
  const whole = structuredClone(settings);
  const [dev, prod] = whole.stages as [StageSettings, StageSettings];
  const [devDatabase, prodDatabase] = whole.databases as [DatabaseSettings, DatabaseSettings];
  change({ ...whole, whole, dev, prod, devDatabase, prodDatabase, signIn: prod.signIn as SignInSettings });
  return whole;
}

const issuesWith = (change: Change) =>
  settingsSchema.safeParse(changed(change)).error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);

const inSignIn =
  (part: object): Change =>
  ({ signIn }) =>
    Object.assign(signIn, part);
/** Locks the vault of a database's copies, which are kept for 14 days. */
const lockOf =
  (database: "devDatabase" | "prodDatabase", part: object = {}): Change =>
  (draft) =>
    Object.assign(draft[database], { backupLock: { mode: "compliance", daysMin: 7, ...part } });
const pipelineWith =
  (qualifier: string | undefined): Change =>
  ({ account, devDatabase, prodDatabase }) => {
    Object.assign(account, { pipeline: { repository: "example/colophon" } });
    Object.assign(prodDatabase, { qualifier: "colprod" });
    Object.assign(devDatabase, { qualifier });
  };
const secretIn = (place: string) =>
  inSignIn({ clientSecretArn: `arn:aws:secretsmanager:${place}:secret:client-AbCdEf` });
/** Without an edge the API has no domain. */
const direct =
  (part: object): Change =>
  ({ prod, signIn }) => {
    delete prod.edge;
    Object.assign(signIn, part);
  };

describe("Settings", () => {
  it.each<[string, Change]>([
    ["an issuer with a slash at its end", inSignIn({ issuer: "https://tenant.auth0.com/" })],
    ["a cookie that other sites never send", inSignIn({ sameSite: "strict" })],
    ["a cookie for the parent of the API's domain", inSignIn({ cookieDomain: "example.com" })],
    ["a cookie for the API's domain", inSignIn({ cookieDomain: "api.example.com" })],
    ["a cookie for other sites where the API has no domain", direct({ sameSite: "none" })],
    [
      "several stages on one database, one of them with uploads",
      ({ stages, prod }) => {
        const { imageCertificate: _, imageBackupRegion: __, edge: ___, signIn: ____, ...website } = prod;
        stages.push({ ...website, name: "website", uploads: false });
      },
    ],
    [
      "all of the account's concurrency but for a hundred functions",
      ({ account, dev, prod, signIn }) => {
        account.concurrency = 453;
        Object.assign(dev, { streams: {}, publicRecords: {} });
        Object.assign(prod, { streams: { concurrent: 15 }, publicRecords: {}, images: {} });
        signIn.concurrent = 4;
      },
    ],
    [
      "no concurrency in a small account",
      ({ account, stages, signIn }) => {
        account.concurrency = 10;
        for (const { streams, publicRecords, images } of stages)
          streams.concurrent = publicRecords.concurrent = images.concurrent = null;
        signIn.concurrent = null;
      },
    ],
  ])("may have %s", (_, change) => {
    expect(issuesWith(change)).toBeUndefined();
  });

  /** What is wrong, and settings that are so. */
  const wrong: Readonly<Record<string, readonly Change[]>> = {
    // Money.
    "account.concurrency: stages reserve 901, and 100 are for the rest": [
      ({ account, dev, prod }) => {
        account.concurrency = 960;
        for (const each of [dev, prod])
          Object.assign(each, { streams: { concurrent: 25 }, publicRecords: { concurrent: 57 } });
      },
    ],
    "account: concurrency and alarmRecipient go together": [({ account }) => delete account.alarmRecipient],
    "stages.0.smoke: would keep a database awake": [({ dev }) => (dev.smoke = { everyMinutes: 5 })],
    "stages.0.edge: would keep a database awake": [
      ({ dev, prod }) => Object.assign(dev, { edge: { ...prod.edge, domain: "api.dev.example.com" } }),
    ],
    "a database pauses exactly when its capacityMin is 0": [
      ({ prodDatabase }) => (prodDatabase.pausesAfterMinutes = 10),
      ({ devDatabase }) => delete devDatabase.pausesAfterMinutes,
    ],
    // Data.
    "stages.1.imageBackupRegion: copies of images in the region of the stage": [
      ({ prod }) => (prod.imageBackupRegion = "eu-central-1"),
    ],
    "stages.1.imageBackupRegion: Too small": [({ prod }) => (prod.imageBackupRegion = "")],
    "databases.1.backupRegion: ": [({ prodDatabase }) => (prodDatabase.backupRegion = "")],
    "stages.0.imageBackupRegion: a stage without uploads": [({ dev }) => (dev.imageBackupRegion = "eu-west-1")],
    "databases.0.backupLock: a lock of copies that are not made": [lockOf("devDatabase")],
    "databases.1.backupLock: the vault would refuse": [
      lockOf("prodDatabase", { daysMin: 15 }),
      lockOf("prodDatabase", { daysMax: 13 }),
    ],
    "databases.0: restored both from a snapshot and from a cluster": [
      ({ devDatabase }) =>
        Object.assign(devDatabase, { snapshot: "a", restore: { cluster: "b", time: "2026-11-21T09:00:00Z" } }),
    ],
    "databases.0.drill: a drill restores the copy": [({ devDatabase }) => (devDatabase.drill = { day: 1, hour: 8 })],
    "a stage names a database that is not there": [({ dev }) => (dev.database = "none")],
    "two stages with uploads share a database": [({ stages, prod }) => stages.push({ ...prod, name: "second" })],
    "two stages with an edge share a database": [({ stages, prod }) => stages.push({ ...prod, name: "second" })],
    ": stages of one database differ in imageDomain": [
      ({ stages, dev }) => stages.push({ ...dev, name: "second", imageDomain: "other.example.com" }),
    ],
    ": stages of one database differ in changesRetentionDays": [
      ({ stages, dev }) => stages.push({ ...dev, name: "second", changesRetentionDays: 30 }),
    ],
    "stages.0.changesRetentionDays: ": [({ dev }) => (dev.changesRetentionDays = 0)],
    'stages.0: Unrecognized key: "upload"': [({ dev }) => Object.assign(dev, { upload: true })],
    // Access.
    "stages.0.allowedOrigins.2: an origin": ["*", "http://localhost:*", "https://*.example.com", "https://a.test/"].map(
      (origin): Change =>
        ({ dev }) =>
          dev.allowedOrigins.push(origin),
    ),
    "databases: with account.pipeline each database has a qualifier of its own": [
      pipelineWith(undefined),
      pipelineWith("colprod"),
      pipelineWith("hnb659fds"),
    ],
    "databases.0.qualifier: one to ten": [pipelineWith("col*"), pipelineWith("")],
    "signIn.issuer: ": [
      inSignIn({ issuer: "http://accounts.example.com" }),
      inSignIn({ issuer: "https://example.com?tenant=1" }),
    ],
    "signIn.clientSecretArn: a secret's whole ARN": [
      inSignIn({ clientSecretArn: "s3cret" }),
      // Without its last six characters it would be no right to the secret.
      inSignIn({ clientSecretArn: settings.stages[1]?.signIn?.clientSecretArn.slice(0, -7) }),
    ],
    "signIn.clientSecretArn: a secret of account 999999999999": [secretIn("eu-central-1:999999999999")],
    "signIn.clientSecretArn: a secret of account 123456789012 in us-east-1": [secretIn("us-east-1:123456789012")],
    "signIn.panel: its origin is none of allowedOrigins": [inSignIn({ panel: "https://b.example.com" })],
    "signIn.panel: an https URL without user": [inSignIn({ panel: "https://admin.example.com/#/a" })],
    "signIn.sessionDays: ": [inSignIn({ sessionDays: 366 })],
    "signIn.sameSite: panel and API are on one site": [inSignIn({ sameSite: "none" })],
    "signIn.sameSite: browsers would not send the cookie": [direct({})],
    "signIn.cookieDomain: the API's domain, api.example.com, is not within it": [
      inSignIn({ cookieDomain: "example.org" }),
      inSignIn({ cookieDomain: "ple.com" }),
    ],
    "signIn.cookieDomain: the API's domain, which is API Gateway's": [
      direct({ sameSite: "none", cookieDomain: "example.com" }),
    ],
  };

  it.each(Object.entries(wrong))("are refused: %s", (message, changes) => {
    for (const change of changes) expect(issuesWith(change)?.join("\n")).toContain(message);
  });

  it.each([
    ["api.example.co.uk", "example.co.uk", "example.co.uk"],
    ["api.example.co.uk", "other.co.uk", undefined],
    ["api.pages.github.io", "pages.github.io", "pages.github.io"],
    ["one.github.io", "two.github.io", undefined],
  ])("know whether %s and admin.%s are one site, where more than two parts make it", (api, other, site) => {
    const panel = `https://admin.${other}`;
    const issues = (changes: object) =>
      issuesWith(({ prod, signIn }) => {
        Object.assign(prod.edge ?? {}, { domain: api });
        Object.assign(prod, { allowedOrigins: [panel] });
        Object.assign(signIn, { panel, ...changes });
      });

    expect(issues({ sameSite: site ? "lax" : "none" })).toBeUndefined();
    expect(issues({ sameSite: site ? "none" : "lax" })).toHaveLength(1);
    if (site) expect(issues({ cookieDomain: site })).toBeUndefined();
    expect(issues({ sameSite: site ? "lax" : "none", cookieDomain: api.split(".").slice(-2).join(".") })).toEqual([
      "stages.1.signIn.cookieDomain: browsers take no cookie for a domain under which others have theirs",
    ]);
  });
});

it("The longest name of a bucket for transfers is one that S3 allows", () => {
  const name = transferBucketOf({ name: "a".repeat(16) }, { id: "123456789012", region: "ap-southeast-2" });

  expect(name).toHaveLength(63);
});
