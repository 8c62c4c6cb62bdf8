import { settings, settingsSchema } from "../../../infra/settings/settings.ts";

/** The region of the copies, which replaces a lost one. */
export const region = "eu-west-1";
export const lost = settings.account.region;
export const repository = "example/colophon";
export const snapshot = `arn:aws:rds:${region}:123456789012:cluster-snapshot:before-the-accident`;
export const restore = { cluster: "colophon-dev-database", time: "2026-11-21T09:00:00Z" };
const lock = { daysMin: 14, daysMax: 35, changeableForDays: 7 };
const none = { rate: 0, burst: 0 };

/** A firewall with everything. */
const firewall = {
  requestsPerAddressIn5Minutes: 3_000,
  unlimitedListsPerAddressIn5Minutes: 30,
  signInsPerAddressIn5Minutes: 50,
  trustedAddresses: ["192.0.2.0/28", "2001:db8:1::/48"],
};

const [dev, prod] = settings.stages;
if (!dev || !prod?.signIn) throw new Error("There are other stages");
const { edge: _, smoke: __, imageBackupRegion: ___, ...withoutEdge } = prod;
const domain = (name: string) => ({ name, certificate: `arn:aws:acm:${region}:123456789012:certificate/9` });
const moved = {
  hasAliases: false,
  throttles: { ...prod.throttles, changes: none, images: none },
  cdnGigabytesAnHour: 2.5,
};
const signIn = { ...prod.signIn, clientSecretArn: prod.signIn.clientSecretArn.replace(lost, region) };

/**
 * What stages.ts does not show. Both stages are in the region of the copies, as infra/restore.md has it for a lost region,
 * with restored databases, a domain of API Gateway, and a pipeline. dev has everything but an edge.
 */
export const changed = settingsSchema.parse({
  account: { ...settings.account, region, concurrency: 3_000, pipeline: { repository } },
  databases: settings.databases.map(({ zones: _, ...each }) => ({
    ...each,
    qualifier: `col${each.name}`,
    backupRegion: lost,
    backupRetentionDays: 14,
    capacityMax: 8,
    isProtected: true,
    mayBeEmpty: true,
    ...(each.name === "dev"
      ? { restore, backupLock: { ...lock, mode: "governance" as const } }
      : { snapshot, backupLock: { ...lock, mode: "compliance" as const } }),
  })),
  stages: [
    {
      ...withoutEdge,
      ...moved,
      name: "dev",
      database: "dev",
      domain: domain("api.dev.example.com"),
      imageDomain: dev.imageDomain,
      signIn: { ...signIn, cookieDomain: "example.com", sameSite: "strict" as const },
      firewall,
    },
    {
      ...prod,
      ...moved,
      domain: domain("api.example.com"),
      imageBackupRegion: lost,
      signIn,
      firewall: { ...firewall, flatRatePlan: true },
    },
  ],
});
