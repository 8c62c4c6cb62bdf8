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

  it.each<[string, Change, string]>([
    // Money.
    [
      "less concurrency than all stages reserve",
      ({ account, dev, prod }) => {
        account.concurrency = 960;
        for (const each of [dev, prod]) {
          each.streams.concurrent = 25;
          each.publicRecords.concurrent = 57;
        }
      },
      "account.concurrency: stages reserve 901, and 100 are for the rest",
    ],
    [
      "a concurrency that nobody hears of",
      ({ account }) => delete account.alarmRecipient,
      "account: concurrency and alarmRecipient go together",
    ],
    ["public records that nobody may read", ({ dev }) => (dev.publicRecords.concurrent = 0), "concurrent"],
    ["a budget of nothing", ({ account }) => Object.assign(account.budget ?? {}, { dollarsAMonth: 0 }), "budget"],
    [
      "questions to a database that pauses",
      ({ dev }) => (dev.smoke = { everyMinutes: 5 }),
      "stages.0.smoke: would keep a database awake",
    ],
    [
      "an edge before a database that pauses",
      ({ dev, prod }) => Object.assign(dev, { edge: { ...prod.edge, domain: "api.dev.example.com" } }),
      "stages.0.edge: would keep a database awake",
    ],
    ["a pause without falling to 0", ({ prodDatabase: it }) => (it.pausesAfterMinutes = 10), "pauses exactly when"],
    ["falling to 0 without a pause", ({ devDatabase }) => delete devDatabase.pausesAfterMinutes, "pauses exactly when"],
    ["alarms for nobody", ({ dev }) => (dev.alarmRecipient = "ops"), "alarmRecipient"],
    // Data.
    ["no backups", ({ prodDatabase }) => (prodDatabase.backupRetentionDays = 0), "backupRetentionDays"],
    [
      "copies of images in their own region",
      ({ prod }) => (prod.imageBackupRegion = "eu-central-1"),
      "stages.1.imageBackupRegion: copies of images in the region of the stage",
    ],
    [
      "copies of images that nobody uploads",
      ({ dev }) => (dev.imageBackupRegion = "eu-west-1"),
      "stages.0.imageBackupRegion: a stage without uploads",
    ],
    ["a lock of no copies", lockOf("devDatabase"), "databases.0.backupLock: a lock of copies that are not made"],
    ["a lock that refuses the copies", lockOf("prodDatabase", { daysMin: 15 }), "the vault would refuse"],
    ["a lock that refuses them as too old", lockOf("prodDatabase", { daysMax: 13 }), "the vault would refuse"],
    ["a lock that is final at once", lockOf("prodDatabase", { changeableForDays: 2 }), "changeableForDays"],
    [
      "a restore from two origins",
      ({ devDatabase: it }) =>
        Object.assign(it, { snapshot: "a", restore: { cluster: "b", time: "2026-11-21T09:00:00Z" } }),
      "databases.0: restored both from a snapshot and from a cluster",
    ],
    [
      "a drill without backups",
      ({ devDatabase }) => (devDatabase.drill = { day: 1, hour: 8 }),
      "a drill restores the copy",
    ],
    ["a database that is not there", ({ dev }) => (dev.database = "none"), "a database that is not there"],
    [
      "two stages with uploads on one database",
      ({ stages, prod }) => stages.push({ ...prod, name: "second" }),
      "two stages with uploads share a database",
    ],
    [
      "two stages with an edge on one database",
      ({ stages, prod }) => stages.push({ ...prod, name: "second" }),
      "two stages with an edge share a database",
    ],
    ...Object.entries({ imageDomain: "other.example.com", changesRetentionDays: 30 }).map(
      ([setting, value]): [string, Change, string] => [
        `stages of one database that differ in ${setting}`,
        ({ stages, dev }) => stages.push({ ...dev, name: "second", [setting]: value }),
        `: stages of one database differ in ${setting}`,
      ],
    ),
    ["changes kept for no day", ({ dev }) => (dev.changesRetentionDays = 0), "changesRetentionDays"],
    ["a misspelt setting", ({ dev }) => Object.assign(dev, { upload: true }), "upload"],
    // Access.
    ...["*", "http://localhost:*", "https://*.example.com", "https://a.example.com/"].map(
      (origin): [string, Change, string] => [
        `the origin ${origin}`,
        ({ dev }) => dev.allowedOrigins.push(origin),
        "stages.0.allowedOrigins.2: an origin",
      ],
    ),
    [
      "a pipeline of a database without a qualifier",
      pipelineWith(undefined),
      "each database has a qualifier of its own",
    ],
    ["a pipeline of a database with that of another", pipelineWith("colprod"), "a qualifier of its own"],
    ["a pipeline of a database with the CDK's", pipelineWith("hnb659fds"), "a qualifier of its own"],
    ["an issuer without https", inSignIn({ issuer: "http://accounts.example.com" }), "signIn.issuer: "],
    [
      "an issuer with a query",
      inSignIn({ issuer: "https://example.com?tenant=1" }),
      "issuer: an https URL without user",
    ],
    ["the secret itself", inSignIn({ clientSecretArn: "s3cret" }), "clientSecretArn: a secret's whole ARN"],
    [
      "an ARN without its last six characters, which would be no right to the secret",
      inSignIn({ clientSecretArn: settings.stages[1]?.signIn?.clientSecretArn.slice(0, -7) }),
      "clientSecretArn: a secret's whole ARN",
    ],
    [
      "a secret of another account",
      secretIn("eu-central-1:999999999999"),
      "a secret of account 999999999999 in eu-central-1",
    ],
    ["a secret of another region", secretIn("us-east-1:123456789012"), "a secret of account 123456789012 in us-east-1"],
    ["a panel that may not call the API", inSignIn({ panel: "https://b.example.com" }), "panel: its origin is none of"],
    [
      "a panel with a fragment",
      inSignIn({ panel: "https://admin.example.com/#/a" }),
      "panel: an https URL without user",
    ],
    ["a session of more than a year", inSignIn({ sessionDays: 366 }), "signIn.sessionDays: "],
    ["a cookie for other sites on one site", inSignIn({ sameSite: "none" }), "sameSite: panel and API are on one site"],
    ["a cookie of one site on two", direct({}), "sameSite: browsers would not send the cookie"],
    [
      "a foreign domain of the cookie",
      inSignIn({ cookieDomain: "example.org" }),
      "cookieDomain: the API's domain, api.example.com, is not within it",
    ],
    ["half a name as domain of the cookie", inSignIn({ cookieDomain: "ple.com" }), "cookieDomain: the API's domain"],
    [
      "a domain of the cookie where the API has none",
      direct({ sameSite: "none", cookieDomain: "example.com" }),
      "cookieDomain: the API's domain, which is API Gateway's",
    ],
  ])("must not have %s", (_, change, message) => {
    expect(issuesWith(change)?.join("\n")).toContain(message);
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

  it("bound the lists, public records, images and sign-ins of a stage that says nothing of them", () => {
    const bare = settingsSchema.parse(
      changed(({ dev, signIn }) => {
        for (const each of ["streams", "publicRecords", "images"] as const)
          delete (dev as Partial<StageSettings>)[each];
        delete (dev.throttles as Partial<StageSettings["throttles"]>).signIn;
        for (const each of ["concurrent", "sameSite"] as const) delete (signIn as Partial<SignInSettings>)[each];
      }),
    );

    expect(bare.stages[0]).toMatchObject({
      streams: { concurrent: 5, secondsMax: 120 },
      publicRecords: { concurrent: 20 },
      images: { concurrent: 5 },
      throttles: { signIn: { rate: 5, burst: 20 } },
    });
    expect(bare.stages[1]?.signIn).toMatchObject({ concurrent: 10, sameSite: "lax" });
  });
});

it("The longest name of a bucket for transfers is one that S3 allows", () => {
  const name = transferBucketOf({ name: "a".repeat(16) }, { id: "123456789012", region: "ap-southeast-2" });

  expect(name).toHaveLength(63);
});
