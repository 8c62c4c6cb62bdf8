import { describe, expect, it } from "vitest";
import { wholeLists } from "../../../infra/api/whole-lists.ts";
import { settings, settingsSchema } from "../../../infra/settings/settings.ts";
import { transferBucketOf } from "../../../infra/settings/transfer-bucket.ts";
import { type Declaration, isNavigation, isPublicRecord } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";

/** Other values, by where they are: `stages.1.signIn.panel`. */
type Changes = Readonly<Record<string, unknown>>;

/** What is wrong with the settings once these are changed. */
function issuesWith(changes: Changes): string[] | undefined {
  const changed = structuredClone(settings);
  for (const [path, value] of Object.entries(changes)) {
    const names = path.split(".");
    const last = names.pop() ?? "";
    const parent = names.reduce((its: object, name) => Reflect.get(its, name), changed);
    Reflect.set(parent, last, value);
  }
  return settingsSchema.safeParse(changed).error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
}

const [dev, prod] = settings.stages;
const noEdge = { "stages.1.edge": undefined };
const none = { concurrent: null };
const mayReserve = [0, 1].flatMap((at) => ["streams", "publicRecords", "images"].map((each) => `stages.${at}.${each}`));
const second = { ...prod, name: "second" };
const { imageCertificate: _, imageBackupRegion: __, edge: ___, signIn: ____, ...direct } = second;
const website = { ...direct, name: "website", uploads: false, publicRecords: {} };
const numberOf = (isOfKind: (declaration: Declaration) => unknown) => endpoints.filter(isOfKind).length;
/** What the stages reserve by these settings: by default 5 for a list and for an image, 14 for a public record. */
const reserved =
  // With an edge five more for whole public lists.
  wholeLists(endpoints).length * 5 +
  numberOf(({ response }) => "list" in response) * (5 + 15) +
  numberOf(isPublicRecord) * (14 + 14) +
  // Only prod has these, and an edge, which is invalidated by five at once.
  numberOf(({ needsFileService }) => needsFileService) * 5 +
  numberOf(isNavigation) * 4 +
  5;
/** Settings that reserve so many, in an account with this concurrency. */
const reserving = (concurrency: number): Changes => ({
  "account.concurrency": concurrency,
  "stages.0.streams": {},
  "stages.1.streams": { concurrent: 15 },
  "stages.1.publicRecords": {},
  "stages.1.signIn.concurrent": 4,
});
const inSignIn = (part: Changes): Changes => ({ "stages.1.signIn": { ...prod?.signIn, ...part } });
/** Locks the vault of a database's copies; prod's are kept for 14 days. */
const lock = (database: 0 | 1, part: object = {}): Changes => ({
  [`databases.${database}.backupLock`]: { mode: "compliance", daysMin: 7, ...part },
});
const pipelineWith = (qualifier: string | undefined): Changes => ({
  "account.pipeline": { repository: "example/colophon" },
  "databases.1.qualifier": "colprod",
  "databases.0.qualifier": qualifier,
});
const secretIn = (place: string) =>
  inSignIn({ clientSecretArn: `arn:aws:secretsmanager:${place}:secret:client-AbCdEf` });

describe("Settings", () => {
  it.each(
    Object.entries<Changes>({
      // Only a deployment refuses it.
      "the example's secret in another account": { "account.id": "210987654321" },
      "an issuer with a slash at its end": inSignIn({ issuer: "https://tenant.auth0.com/" }),
      "a cookie for the parent of the API's domain": inSignIn({ cookieDomain: "example.com", sameSite: "strict" }),
      "a cookie for the API's domain": inSignIn({ cookieDomain: "api.example.com" }),
      "a cookie for other sites where the API has no domain": { ...noEdge, ...inSignIn({ sameSite: "none" }) },
      "several stages on one database, one of them with uploads": {
        "stages.2": website,
        "account.concurrency": 10_000,
        "databases.1.capacityMin": 1,
        "databases.1.capacityMax": 16,
      },
      "all of the account's concurrency but for a hundred functions": reserving(reserved + 100),
      "no concurrency in a small account": {
        "account.concurrency": 10,
        ...Object.fromEntries(mayReserve.map((path) => [path, none])),
        ...inSignIn(none),
      },
    }),
  )("may have %s", (_, changes) => {
    expect(issuesWith(changes)).toBeUndefined();
  });

  it.each(
    Object.entries<readonly Changes[]>({
      // Money.
      [`account.concurrency: stages reserve ${reserved}, and 100 are for the rest`]: [reserving(reserved + 99)],
      "account: concurrency and alarmRecipient go together": [{ "account.alarmRecipient": undefined }],
      "stages.0.smoke: would keep a database awake": [{ "stages.0.smoke": { everyMinutes: 5 } }],
      "stages.0.edge: would keep a database awake": [{ "stages.0.edge": prod?.edge }],
      "a database pauses exactly when its capacityMin is 0": [
        { "databases.1.pausesAfterMinutes": 10 },
        { "databases.0.pausesAfterMinutes": undefined },
      ],
      // Of 189 connections the public login has 94, and its functions may hold 302: 5 lists and 9 records of 5 and 14.
      "databases.0.capacityMax: functions that log in as public may hold 302 connections, and get 94": [
        { "databases.0.capacityMax": 1 },
      ],
      // Data.
      "stages.1.imageBackupRegion: copies of images in": [{ "stages.1.imageBackupRegion": "eu-central-1" }],
      "stages.1.imageBackupRegion: ": [{ "stages.1.imageBackupRegion": "" }],
      "databases.1.backupRegion: ": [{ "databases.1.backupRegion": "" }],
      "stages.0.imageBackupRegion: a stage without uploads": [{ "stages.0.imageBackupRegion": "eu-west-1" }],
      "databases.0.backupLock: a lock of copies that are not made": [lock(0)],
      "databases.1.backupLock: the vault would refuse": [lock(1, { daysMin: 15 }), lock(1, { daysMax: 13 })],
      "databases.0.restore: restored both from a snapshot and from a cluster": [
        { "databases.0.snapshot": "a", "databases.0.restore": { cluster: "b", time: "2026-11-21T09:00:00Z" } },
      ],
      "databases.0.drill: a drill restores the copy": [{ "databases.0.drill": { day: 1, hour: 8 } }],
      "a stage names a database that is not there": [{ "stages.0.database": "none" }],
      "two stages with uploads share a database": [{ "stages.2": second }],
      "two stages with an edge share a database": [{ "stages.2": second }],
      "differ in imageDomain": [{ "stages.2": { ...dev, name: "second", imageDomain: "other.example.com" } }],
      "differ in changesRetentionDays": [{ "stages.2": { ...dev, name: "second", changesRetentionDays: 30 } }],
      "stages.0.changesRetentionDays: ": [{ "stages.0.changesRetentionDays": 0 }],
      'stages.0: Unrecognized key: "upload"': [{ "stages.0.upload": true }],
      "stages.1.alarmRecipient: alarms in us-east-1 reach nobody: add a topic there, or an address": [
        { "stages.1.alarmRecipient": ["arn:aws:sns:eu-central-1:123456789012:pager"] },
      ],
      "databases.1.alarmRecipient: alarms in eu-central-1, eu-west-1 reach nobody": [
        { "databases.1.alarmRecipient": "arn:aws:sns:us-east-1:123456789012:pager" },
      ],
      "alarmRecipient: neither an address, nor the ARN": [{ "stages.0.alarmRecipient": "pager" }],
      // Access.
      "stages.0.allowedOrigins.0: an origin": [
        "*",
        "http://localhost:*",
        "https://*.example.com",
        "https://a.test/",
      ].map((each) => ({ "stages.0.allowedOrigins": [each] })),
      "databases: with account.pipeline each database has a qualifier of its own": [
        undefined,
        "colprod",
        "hnb659fds",
      ].map(pipelineWith),
      "databases.0.qualifier: one to ten": [pipelineWith("col*"), pipelineWith("")],
      "signIn.issuer: ": ["http://a.example.com", "https://a.test?tenant=1"].map((issuer) => inSignIn({ issuer })),
      // Without its last six characters it would be no right to the secret.
      "signIn.clientSecretArn: a secret's whole ARN": [
        inSignIn({ clientSecretArn: prod?.signIn?.clientSecretArn.slice(0, -7) }),
      ],
      "signIn.clientSecretArn: a secret of account 999999999999": [secretIn("eu-central-1:999999999999")],
      "signIn.clientSecretArn: a secret of account 210987654321 in us-east-1": [
        { "account.id": "210987654321", ...secretIn("us-east-1:210987654321") },
      ],
      "signIn.panel: its origin is none of allowedOrigins": [inSignIn({ panel: "https://b.example.com" })],
      "signIn.panel: an https URL without user": [inSignIn({ panel: "https://admin.example.com/#/a" })],
      "signIn.sessionDays: ": [inSignIn({ sessionDays: 366 })],
      "signIn.sameSite: panel and API are on one site": [inSignIn({ sameSite: "none" })],
      "signIn.sameSite: browsers would not send the cookie": [noEdge],
      "signIn.cookieDomain: the API's domain, api.example.com, is not within it": [
        inSignIn({ cookieDomain: "example.org" }),
        inSignIn({ cookieDomain: "ple.com" }),
      ],
      "signIn.cookieDomain: the API's domain, which": [{ ...noEdge, ...inSignIn({ cookieDomain: "example.com" }) }],
    }),
  )("are refused: %s", (message, cases) => {
    for (const changes of cases) expect(issuesWith(changes)?.join("\n")).toContain(message);
  });

  it.each([
    { api: "api.example.co.uk", other: "example.co.uk", site: "example.co.uk" },
    { api: "api.example.co.uk", other: "other.co.uk", site: undefined },
    { api: "api.pages.github.io", other: "pages.github.io", site: "pages.github.io" },
    { api: "one.github.io", other: "two.github.io", site: undefined },
  ])("know whether $api and admin.$other are one site, where more than two parts make it", ({ api, other, site }) => {
    const panel = `https://admin.${other}`;
    const domains = { "stages.1.edge.domain": api, "stages.1.allowedOrigins": [panel] };
    const issues = (changes: Changes) => issuesWith({ ...domains, ...inSignIn({ panel, ...changes }) });
    const [right, wrong] = site ? ["lax", "none"] : ["none", "lax"];

    expect(issues({ sameSite: right })).toBeUndefined();
    expect(issues({ sameSite: wrong })).toHaveLength(1);
    if (site) expect(issues({ cookieDomain: site })).toBeUndefined();
    expect(issues({ sameSite: right, cookieDomain: api.split(".").slice(-2).join(".") })).toEqual([
      "stages.1.signIn.cookieDomain: browsers take no cookie for a domain under which others have theirs",
    ]);
  });
});

it("The longest name of a bucket for transfers is one that S3 allows", () => {
  const name = transferBucketOf({ name: "a".repeat(16) }, { id: "123456789012", region: "ap-southeast-2" });

  expect(name).toHaveLength(63);
});
