import type { Stages } from "./settings/schema.ts";

/*
 * All settings of your stages; settings/schema.ts says what each means. `npm run deploy` refuses the account and the
 * domains below, which are placeholders. stages.example.ts has a stage prod, with everything that a stage can have.
 */
export default {
  account: {
    id: "123456789012",
    region: "eu-central-1",
    concurrency: 1_000,
    alarmRecipient: "colophon-dev@example.com",
    budget: { dollarsAMonth: 50, recipient: "colophon-dev@example.com" },
  },
  databases: [
    {
      name: "dev",
      capacityMin: 0,
      capacityMax: 3,
      pausesAfterMinutes: 10,
      standby: false,
      backupRetentionDays: 1,
      isProtected: false,
      logRetentionDays: 14,
      alarmRecipient: "colophon-dev@example.com",
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
  ],
} satisfies Stages;
