import { settingsOf } from "./settings/settings.ts";

/*
 * All settings in which deployments differ; settings/schema.ts says what each means. The account, domains and
 * certificates below are examples: replace them by your own before you deploy.
 */
export const settings = settingsOf({
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
      backupRetentionDays: 1,
      isProtected: false,
      logRetentionDays: 14,
      alarmRecipient: "colophon-dev@example.com",
    },
    {
      name: "prod",
      capacityMin: 0.5,
      capacityMax: 8,
      standby: true,
      zones: ["eu-central-1a", "eu-central-1b"],
      backupRetentionDays: 14,
      backupRegion: "eu-west-1",
      knownContributor: "naoki-urasawa",
      drill: { day: 5 },
      isProtected: true,
      logRetentionDays: 90,
      trailRetentionDays: 400,
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
      isProtected: false,
      logRetentionDays: 14,
      changesRetentionDays: 400,
      alarmRecipient: "colophon-dev@example.com",
    },
    {
      name: "prod",
      database: "prod",
      allowedOrigins: ["https://admin.example.com"],
      imageDomain: "images.example.com",
      uploads: true,
      imageBackupRegion: "eu-west-1",
      imageCertificate: "arn:aws:acm:us-east-1:123456789012:certificate/00000000-0000-4000-8000-000000000001",
      edge: {
        domain: "api.example.com",
        certificate: "arn:aws:acm:us-east-1:123456789012:certificate/00000000-0000-4000-8000-000000000002",
      },
      throttles: {
        preflights: { rate: 50, burst: 100 },
        lists: { rate: 100, burst: 200 },
        records: { rate: 500, burst: 1_000 },
        changes: { rate: 50, burst: 100 },
        images: { rate: 5, burst: 10 },
      },
      signIn: {
        issuer: "https://accounts.example.com",
        clientId: "colophon-prod",
        clientSecretArn: "arn:aws:secretsmanager:eu-central-1:123456789012:secret:colophon-prod-sign-in-Ab12Cd",
        panel: "https://admin.example.com/",
        sessionDays: 7,
      },
      streams: { concurrent: 25, secondsMax: 120 },
      publicRecords: { concurrent: 40 },
      smoke: { everyMinutes: 5 },
      firewall: { requestsPerAddressIn5Minutes: 10_000, unlimitedListsPerAddressIn5Minutes: 30 },
      isProtected: true,
      logRetentionDays: 90,
      changesRetentionDays: 400,
      alarmRecipient: "colophon-alarms@example.com",
    },
  ],
});
