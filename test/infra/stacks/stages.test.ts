import { describe, expect, it } from "vitest";
import type {
  BackupLock,
  DatabaseSettings,
  Settings,
  SignInSettings,
  StageSettings,
} from "../../../infra/settings/schema.ts";
import { settingsSchema } from "../../../infra/settings/settings.ts";
import { settings } from "../../../infra/stages.ts";

/** Settings to be spoiled: the two stages and databases by name. */
interface Draft extends Settings {
  readonly whole: Settings;
  readonly dev: StageSettings;
  readonly prod: StageSettings;
  readonly devDatabase: DatabaseSettings;
  readonly prodDatabase: DatabaseSettings;
}

/** The settings with one thing changed. */
function changed(change: (draft: Draft) => void): unknown {
  const draft = structuredClone(settings);
  const [dev, prod] = draft.stages as [StageSettings, StageSettings];
  const [devDatabase, prodDatabase] = draft.databases as [DatabaseSettings, DatabaseSettings];
  change({ ...draft, whole: draft, dev, prod, devDatabase, prodDatabase });
  return draft;
}

const pipelineOf = (repository: string, provider?: string) => (draft: Draft) => {
  Object.assign(draft.account, { pipeline: { repository, ...(provider ? { provider } : {}) } });
};

/** Locks the vault of a database's copies, which are kept for 14 days. */
const lockOf = (database: string, lock: Partial<BackupLock>) => (draft: Draft) => {
  const found = draft.whole.databases.find(({ name }) => name === database);
  Object.assign(found ?? {}, { backupLock: { mode: "compliance", daysMin: 7, ...lock } });
};

const issuesOf = (given: unknown) =>
  settingsSchema.safeParse(given).error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);

describe("Settings", () => {
  it("have a stage that pauses without uploads, and a protected one with them", () => {
    const dev = settings.stages.find(({ name }) => name === "dev");
    const prod = settings.stages.find(({ name }) => name === "prod");
    const databaseOf = (name = "") => settings.databases.find((each) => each.name === name);

    expect(dev?.uploads).toBe(false);
    expect(databaseOf(dev?.database)).toMatchObject({ capacityMin: 0, isProtected: false });
    expect(prod).toMatchObject({ uploads: true, isProtected: true });
    expect(databaseOf(prod?.database)).toMatchObject({ isProtected: true });
  });

  it("may let several stages share a database, one of them with uploads", () => {
    const shared = changed(({ stages, prod }) => {
      const { imageCertificate: _, imageBackupRegion: __, edge: ___, signIn: ____, ...website } = prod;
      stages.push({ ...website, name: "website", uploads: false });
    });

    expect(issuesOf(shared)).toBeUndefined();
  });

  it("may trust addresses of both kinds", () => {
    const trustedAddresses = ["192.0.2.1/32", "198.51.100.0/24", "2001:db8::/48"];

    expect(issuesOf(changed(({ prod }) => Object.assign(prod.firewall ?? {}, { trustedAddresses })))).toBeUndefined();
  });

  it.each<[string, (draft: Draft) => void, string | RegExp]>([
    ["an account that is none", ({ account }) => (account.id = "1234"), /account\.id: twelve digits/],
    ["a repository that is a URL", pipelineOf("https://github.com/a/b"), /account\.pipeline\.repository: owner\/name/],
    [
      "copies of images in their own region",
      ({ prod }) => (prod.imageBackupRegion = "eu-central-1"),
      /stages\.1\.imageBackupRegion: copies of images in the region of the stage/,
    ],
    [
      "copies of images that nobody uploads",
      ({ dev }) => (dev.imageBackupRegion = "eu-west-1"),
      /stages\.0\.imageBackupRegion: a stage without uploads/,
    ],
    ["an origin with a path", ({ dev }) => dev.allowedOrigins.push("https://a.example.com/"), /an origin/],
    ["any origin", ({ dev }) => dev.allowedOrigins.push("*"), /stages\.0\.allowedOrigins/],
    ["every port of a host", ({ dev }) => dev.allowedOrigins.push("http://localhost:*"), /an origin/],
    ["every name of a domain", ({ dev }) => dev.allowedOrigins.push("https://*.example.com"), /an origin/],
    ["no origin", ({ dev }) => dev.allowedOrigins.splice(0), /allowedOrigins/],
    ["a stage's odd name", ({ dev }) => (dev.name = "Dev_1"), /lower-case/],
    ["a database that is not there", ({ dev }) => (dev.database = "none"), /a database that is not there/],
    [
      "a pause without falling to 0",
      ({ prodDatabase }) => (prodDatabase.pausesAfterMinutes = 10),
      /pauses exactly when/,
    ],
    ["falling to 0 without a pause", ({ devDatabase }) => delete devDatabase.pausesAfterMinutes, /pauses exactly when/],
    ["changes kept for no day", ({ dev }) => (dev.changesRetentionDays = 0), /changesRetentionDays/],
    ["alarms for nobody", ({ dev }) => (dev.alarmRecipient = "ops"), /alarmRecipient/],
    ["uploads without a certificate", ({ prod }) => delete prod.imageCertificate, /imageCertificate/],
    [
      "an edge whose certificate is elsewhere",
      ({ prod }) =>
        Object.assign(prod.edge ?? {}, { certificate: prod.edge?.certificate.replace("us-east-1", "eu-west-1") }),
      /^stages\.1\.edge\.certificate: an ACM certificate/,
    ],
    ...["office", "192.0.2.1", "192.0.2.0/33", "0.0.0.0/0", "2001:db8::/129", "192.0.2.1/24, 192.0.2.2/32"].map(
      (address) =>
        [
          `${address} for an address`,
          ({ prod }: Draft) => Object.assign(prod.firewall ?? {}, { trustedAddresses: [address] }),
          /^stages\.1\.firewall\.trustedAddresses\.0: /,
        ] as [string, (draft: Draft) => void, RegExp],
    ),
    ["no backups", ({ prodDatabase }) => (prodDatabase.backupRetentionDays = 0), /backupRetentionDays/],
    [
      "less concurrency than all stages reserve",
      ({ account, dev, prod }) => {
        account.concurrency = 960;
        for (const each of [dev, prod]) {
          each.streams.concurrent = 25;
          each.publicRecords.concurrent = 57;
        }
      },
      /account\.concurrency: stages reserve 901, and 100 are for the rest/,
    ],
    [
      "a concurrency where nobody says how large the account's is",
      ({ account }) => {
        delete account.concurrency;
        delete account.alarmRecipient;
      },
      /account\.concurrency: stages reserve/,
    ],
    [
      "public records that nobody may read",
      ({ dev }) => (dev.publicRecords.concurrent = 0),
      /stages\.0\.publicRecords\.concurrent/,
    ],
    [
      "a concurrency that nobody hears of",
      ({ account }) => delete account.alarmRecipient,
      /account: concurrency and alarmRecipient go together/,
    ],
    [
      "a budget of nothing",
      ({ account }) => (account.budget = { dollarsAMonth: 0, recipient: "a@example.com" }),
      /account\.budget\.dollarsAMonth/,
    ],
    [
      "questions to a database that pauses",
      ({ dev }) => (dev.smoke = { everyMinutes: 5 }),
      /stages\.0\.smoke: would keep a database awake/,
    ],
    [
      "an edge before a database that pauses",
      ({ dev, prod }) => Object.assign(dev, { edge: { ...prod.edge, domain: "api.dev.example.com" } }),
      /stages\.0\.edge: would keep a database awake/,
    ],
    ["a lock of no copies", lockOf("dev", {}), "databases.0.backupLock: a lock of copies that are not made, or of"],
    [
      "a lock that refuses the copies",
      lockOf("prod", { daysMin: 15 }),
      "databases.1.backupLock: the vault would refuse",
    ],
    ["a lock that refuses them as too old", lockOf("prod", { daysMax: 13 }), "the vault would refuse"],
    ["a lock that is final at once", lockOf("prod", { changeableForDays: 2 }), /backupLock\.changeableForDays/],
    [
      "a restore from two origins",
      ({ devDatabase: it }) =>
        Object.assign(it, { snapshot: "a", restore: { cluster: "b", time: "2026-11-21T09:00:00Z" } }),
      /databases\.0: restored both from a snapshot and from a cluster/,
    ],
    [
      "a drill without backups",
      ({ devDatabase }) => Object.assign(devDatabase, { drill: { day: 1 }, knownContributor: "a" }),
      /databases\.0\.drill: a drill restores the copy/,
    ],
    [
      "two stages with uploads on one database",
      ({ stages, prod }) => stages.push({ ...prod, name: "second" }),
      /two stages with uploads share a database/,
    ],
    [
      "two stages with an edge on one database",
      ({ stages, prod }) => stages.push({ ...prod, name: "second" }),
      /two stages with an edge share a database/,
    ],
    ["a misspelt setting", ({ dev }) => Object.assign(dev, { upload: true }), /upload/],
  ])("refuse %s", (_, change, message) => {
    expect(issuesOf(changed(change))?.join("\n")).toMatch(message);
  });

  it("refuse a client's secret of another account", () => {
    expect(issuesOf(changed(({ account }) => (account.id = "210987654321")))).toEqual([
      "stages.1.signIn.clientSecretArn: a secret of account 123456789012 in eu-central-1, not of the account and region above",
    ]);
  });

  it("bound the lists, public records, images and sign-ins of a stage that says nothing of them", () => {
    const bare = settingsSchema.parse(
      changed(({ dev, prod }) => {
        for (const each of ["streams", "publicRecords", "images"] as const)
          delete (dev as Partial<StageSettings>)[each];
        delete (dev.throttles as Partial<StageSettings["throttles"]>).signIn;
        for (const each of ["concurrent", "sameSite"] as const) delete (prod.signIn as Partial<SignInSettings>)[each];
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

  it("may reserve all of the account but for a hundred functions, or nothing in a small one", () => {
    const full = changed(({ account, dev, prod }) => {
      account.concurrency = 453;
      Object.assign(dev, { streams: {}, publicRecords: {} });
      Object.assign(prod, { streams: { concurrent: 15 }, publicRecords: {}, images: {} });
      Object.assign(prod.signIn ?? {}, { concurrent: 4 });
    });
    const small = changed(({ account, stages }) => {
      account.concurrency = 10;
      for (const { streams, publicRecords, images } of stages)
        streams.concurrent = publicRecords.concurrent = images.concurrent = null;
      for (const { signIn } of stages) if (signIn) signIn.concurrent = null;
    });

    expect(issuesOf(full)).toBeUndefined();
    expect(issuesOf(small)).toBeUndefined();
  });

  it.each<[string, Partial<StageSettings>]>([
    ["imageDomain", { imageDomain: "other.example.com" }],
    ["changesRetentionDays", { changesRetentionDays: 30 }],
  ])("refuse stages of one database that differ in %s", (setting, difference) => {
    const shared = changed(({ stages, dev }) => stages.push({ ...dev, name: "second", ...difference }));

    expect(issuesOf(shared)?.join()).toBe(`: stages of one database differ in ${setting}`);
  });
});
