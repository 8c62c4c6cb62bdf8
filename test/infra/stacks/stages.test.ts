import { describe, expect, it } from "vitest";
import {
  type BackupLock,
  type DatabaseSettings,
  type Settings,
  type SignInSettings,
  type StageSettings,
  settingsSchema,
} from "../../../infra/settings/schema.ts";
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

const zonesOf =
  (...zones: [string, string]) =>
  ({ devDatabase }: Draft) => {
    devDatabase.zones = zones;
  };

const windowsOf =
  (backupWindow: string, maintenanceWindow: string) =>
  ({ prodDatabase }: Draft) => {
    Object.assign(prodDatabase, { backupWindow, maintenanceWindow });
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

  it.each([
    ["01:30-02:00", "sun:04:30-sun:05:00"],
    ["03:00-03:30", "sat:23:00-sun:00:30"],
    ["23:45-00:15", "sun:00:15-sun:01:00"],
  ])("may have a backup at %s and maintenance at %s", (...windows) => {
    expect(issuesOf(changed(windowsOf(...windows)))).toBeUndefined();
  });

  it("may trust addresses of both kinds", () => {
    const trustedAddresses = ["192.0.2.1/32", "198.51.100.0/24", "2001:db8::/48"];

    expect(issuesOf(changed(({ prod }) => Object.assign(prod.firewall ?? {}, { trustedAddresses })))).toBeUndefined();
  });

  it.each<[string, (draft: Draft) => void, string | RegExp]>([
    ["an account that is none", ({ account }) => (account.id = "1234"), /account\.id: twelve digits/],
    ["an account by its number", ({ account }) => (account.id = 123456789012 as never), /account\.id/],
    ["a region that is none", ({ account }) => (account.region = "Frankfurt"), /account\.region: a region's code/],
    ["no account", (draft) => delete (draft.whole as Partial<Settings>).account, /account/],
    ["a repository that is a URL", pipelineOf("https://github.com/a/b"), /account\.pipeline\.repository: owner\/name/],
    ["a repository with one number", pipelineOf("a@1/b"), /account\.pipeline\.repository: owner\/name/],
    ["a provider that is none", pipelineOf("a/b", "arn:aws:iam::123456789012:role/a"), /pipeline\.provider: GitHub's/],
    [
      "a provider of another account",
      pipelineOf("a/b", "arn:aws:iam::210987654321:oidc-provider/token.actions.githubusercontent.com"),
      "account.pipeline.provider: a provider of another account",
    ],
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
    ["two origins in one", ({ dev }) => dev.allowedOrigins.push("https://a.com,https://b.com"), /an origin/],
    ["an origin that ends a template's text", ({ dev }) => dev.allowedOrigins.push('https://a".com'), /an origin/],
    ["no origin", ({ dev }) => dev.allowedOrigins.splice(0), /allowedOrigins/],
    ["an image URL for a domain", ({ dev }) => (dev.imageDomain = "https://a.example.com"), /a domain/],
    ["a stage's odd name", ({ dev }) => (dev.name = "Dev_1"), /lower-case/],
    ["two stages of a name", ({ dev }) => (dev.name = "prod"), /two stages have one name/],
    ["a database that is not there", ({ dev }) => (dev.database = "none"), /a database that is not there/],
    [
      "a pause without falling to 0",
      ({ prodDatabase }) => (prodDatabase.pausesAfterMinutes = 10),
      /pauses exactly when/,
    ],
    ["falling to 0 without a pause", ({ devDatabase }) => delete devDatabase.pausesAfterMinutes, /pauses exactly when/],
    ["a minimum above the maximum", ({ prodDatabase }) => (prodDatabase.capacityMin = 9), /above capacityMax/],
    ["a capacity of no half ACU", ({ prodDatabase }) => (prodDatabase.capacityMin = 0.7), /capacityMin/],
    ["logs kept for four days", ({ dev }) => (dev.logRetentionDays = 4 as 3), /logRetentionDays/],
    ["changes kept for no day", ({ dev }) => (dev.changesRetentionDays = 0), /changesRetentionDays/],
    ["changes kept for eleven years", ({ dev }) => (dev.changesRetentionDays = 4_000), /changesRetentionDays/],
    ["alarms for nobody", ({ dev }) => (dev.alarmRecipient = "ops"), /alarmRecipient/],
    ["uploads without a certificate", ({ prod }) => delete prod.imageCertificate, /imageCertificate/],
    [
      "an edge whose certificate is elsewhere",
      ({ prod }) =>
        Object.assign(prod.edge ?? {}, { certificate: prod.edge?.certificate.replace("us-east-1", "eu-west-1") }),
      /^stages\.1\.edge\.certificate: an ACM certificate/,
    ],
    [
      "an edge without a certificate",
      ({ prod }) => Object.assign(prod, { edge: { domain: "a.b.com" } }),
      /edge\.certificate/,
    ],
    [
      "one domain for the edge and the images",
      ({ prod }) => Object.assign(prod.edge ?? {}, { domain: prod.imageDomain }),
      /two of edge\.domain and imageDomain are the same/,
    ],
    ...["office", "192.0.2.1", "192.0.2.0/33", "0.0.0.0/0", "2001:db8::/129", "192.0.2.1/24, 192.0.2.2/32"].map(
      (address) =>
        [
          `${address} for an address`,
          ({ prod }: Draft) => Object.assign(prod.firewall ?? {}, { trustedAddresses: [address] }),
          /^stages\.1\.firewall\.trustedAddresses\.0: /,
        ] as [string, (draft: Draft) => void, RegExp],
    ),
    [
      "more whole lists than requests",
      ({ prod }) => Object.assign(prod.firewall ?? {}, { unlimitedListsPerAddressIn5Minutes: 40_000 }),
      /firewall: unlimitedListsPerAddressIn5Minutes is above/,
    ],
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
    ["lists of twenty minutes", ({ prod }) => (prod.streams.secondsMax = 1_200), /stages\.1\.streams\.secondsMax/],
    ["lists of five seconds", ({ prod }) => (prod.streams.secondsMax = 5), /stages\.1\.streams\.secondsMax/],
    ["an account that runs nine functions", ({ account }) => (account.concurrency = 9), /account\.concurrency/],
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
      "a budget that nobody hears of",
      ({ account }) => (account.budget = { dollarsAMonth: 9, recipient: "" }),
      /account\.budget\.recipient/,
    ],
    ["questions without end", ({ prod }) => (prod.smoke = { everyMinutes: 0 }), /stages\.1\.smoke\.everyMinutes/],
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
    [
      "copies of backups where the database is",
      ({ prodDatabase }) => (prodDatabase.backupRegion = "eu-central-1"),
      /databases\.1\.backupRegion: copies of backups in the region/,
    ],
    ["copies of backups nowhere", ({ devDatabase }) => (devDatabase.backupRegion = "Dublin"), /backupRegion: a region/],
    ["a lock of no copies", lockOf("dev", {}), "databases.0.backupLock: a lock of copies that are not made, or of"],
    [
      "a lock that refuses the copies",
      lockOf("prod", { daysMin: 15 }),
      "databases.1.backupLock: the vault would refuse",
    ],
    ["a lock that refuses them as too old", lockOf("prod", { daysMax: 13 }), "the vault would refuse"],
    ["a lock that is final at once", lockOf("prod", { changeableForDays: 2 }), /backupLock\.changeableForDays/],
    ["a lock upside down", lockOf("prod", { daysMin: 9, daysMax: 8 }), "daysMin is above daysMax"],
    [
      "a restore from two origins",
      ({ devDatabase: it }) =>
        Object.assign(it, { snapshot: "a", restore: { cluster: "b", time: "2026-11-21T09:00:00Z" } }),
      /databases\.0: restored both from a snapshot and from a cluster/,
    ],
    [
      "a restore to a time of nowhere",
      ({ devDatabase }) => (devDatabase.restore = { cluster: "a", time: "2026-11-21T09:00" }),
      /restore\.time/,
    ],
    [
      "a drill without backups",
      ({ devDatabase }) => Object.assign(devDatabase, { drill: { day: 1 }, knownContributor: "a" }),
      /databases\.0\.drill: a drill restores the copy/,
    ],
    [
      "a drill that is left out in February",
      ({ prodDatabase }) => (prodDatabase.drill = { day: 29, hour: 8 }),
      /databases\.1\.drill\.day/,
    ],
    ["one zone twice", zonesOf("eu-central-1a", "eu-central-1a"), "databases.0.zones: one zone twice"],
    ["a zone elsewhere", zonesOf("eu-central-1a", "eu-west-1b"), "databases.0.zones: a zone of another region"],
    ["a zone that is a region", zonesOf("eu-central-1", "eu-central-1a"), /zones\.0: a zone's name/],
    ["a window that is none", windowsOf("24:00-01:00", "sun:04:30-sun:05:00"), /backupWindow: hh:mm-hh:mm/],
    ["maintenance on no day", windowsOf("00:00-00:30", "04:30-05:00"), /maintenanceWindow: ddd:hh:mm-ddd:hh:mm/],
    ["maintenance during a backup", windowsOf("04:00-04:31", "sun:04:30-sun:05:00"), "overlaps with backupWindow"],
    ["maintenance around midnight", windowsOf("00:00-00:30", "sat:23:45-sun:00:15"), "overlaps with backupWindow"],
    ["maintenance around the week", windowsOf("23:45-00:15", "sun:23:00-mon:01:00"), "overlaps with backupWindow"],
    ["a backup when another one is made", windowsOf("02:30-03:00", "sun:04:30-sun:05:00"), "between 2:00 and 3:00"],
    ["maintenance while a backup is made", windowsOf("00:00-00:30", "sun:01:30-sun:02:01"), "between 2:00 and 3:00"],
    ["half a standby", ({ devDatabase }) => (devDatabase.standby = 1 as never), /databases\.0\.standby/],
    ["a trail for no day", ({ devDatabase }) => (devDatabase.trailRetentionDays = 0), /trailRetentionDays/],
    ["a throttle below nothing", ({ dev }) => (dev.throttles.changes.rate = -1), /throttles\.changes\.rate/],
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
    [
      "no invalidations",
      ({ prod }) => Object.assign(prod.edge ?? {}, { invalidationsADay: 0 }),
      /edge\.invalidationsADay/,
    ],
    ["sign-ins that never end", ({ dev }) => Object.assign(dev.throttles, { signIn: { rate: 1 } }), /signIn\.burst/],
    ["a misspelt setting", ({ dev }) => Object.assign(dev, { upload: true }), /upload/],
  ])("refuse %s", (_, change, message) => {
    expect(issuesOf(changed(change))?.join("\n")).toMatch(message);
  });

  it("refuse certificates of another account or region, each by its name", () => {
    const issues = (account: Partial<Settings["account"]>) =>
      issuesOf(changed(({ whole }) => Object.assign(whole.account, account)));

    expect(issues({ id: "210987654321", region: "eu-central-1" })).toEqual([
      ...["imageCertificate", "edge.certificate"].map(
        (each) => `stages.1.${each}: a certificate of account 123456789012, not of account.id`,
      ),
      "stages.1.signIn.clientSecretArn: a secret of account 123456789012 in eu-central-1, not of the account and region above",
    ]);
    const certificate = "arn:aws:acm:eu-west-1:123456789012:certificate/00000000-0000-4000-8000-000000000009";
    const elsewhere = changed(({ prod }) => Object.assign(prod, { domain: { name: "api.example.com", certificate } }));
    expect(issuesOf(elsewhere)).toEqual([
      "stages.1.domain.certificate: a certificate in eu-west-1, not in account.region",
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
