import { mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject, it } from "vitest";
import { settings } from "../../../infra/settings/settings.ts";
import { runScript } from "../../support/script.ts";

const topicOf = (region: string, stack: string) => `arn:aws:sns:${region}:${settings.account.id}:${stack}-AlarmsTopic`;
const topics = {
  "eu-central-1": [
    "colophon-account",
    "colophon-prod",
    "colophon-prod-database",
    "colophon-production",
    "colophon-dev",
  ],
  "eu-west-1": ["colophon-prod-backup"],
  "us-east-1": ["colophon-prod-eu-central-1-cdn-alarms"],
};

/** A program `aws` that knows these subscriptions, by their topics: whether they are confirmed. */
async function awsWith(subscriptions: Readonly<Record<string, boolean>>): Promise<string> {
  const directory = await mkdtemp(join(inject("cache"), "aws-"));
  const answers = Object.entries(topics).flatMap(([region, stacks]) => {
    const arns = stacks.map((stack) => topicOf(region, stack));
    const Subscriptions = arns.flatMap((TopicArn, at) => {
      const isConfirmed = subscriptions[stacks[at] ?? ""];
      const SubscriptionArn = isConfirmed ? `${TopicArn}:0` : "PendingConfirmation";
      return isConfirmed === undefined ? [] : [{ TopicArn, SubscriptionArn, Endpoint: "ada@example.com" }];
    });
    return [
      `*list-topics*${region}*) echo '${JSON.stringify({ Topics: arns.map((TopicArn) => ({ TopicArn })) })}';;`,
      `*list-subscriptions*${region}*) echo '${JSON.stringify({ Subscriptions })}';;`,
    ];
  });
  await writeFile(join(directory, "aws"), `#!/bin/sh\ncase "$*" in\n${answers.join("\n")}\nesac\n`, { mode: 0o755 });
  return directory;
}

/** The lines that a smoke test of prod prints behind its table; nothing listens at the address. */
async function linesWith(PATH: string): Promise<string[]> {
  const { output } = await runScript("infra/smoke/smoke.ts", ["http://127.0.0.1:9", "--stage", "prod"], {
    env: { PATH },
  });
  return (
    output
      .trimEnd()
      .split(/not as declared\n/)
      .at(-1)
      ?.split("\n") ?? []
  );
}

it("npm run smoke -- --stage names addresses that have not confirmed, and topics that mail to nobody", async () => {
  const directory = await awsWith({
    "colophon-account": true,
    "colophon-prod": true,
    "colophon-prod-database": false,
    "colophon-dev": false,
    "colophon-prod-eu-central-1-cdn-alarms": true,
  });

  expect(await linesWith(`${directory}:${process.env.PATH}`)).toEqual([
    `ada@example.com has not confirmed the mails of ${topicOf("eu-central-1", "colophon-prod-database")}`,
    `${topicOf("eu-west-1", "colophon-prod-backup")} mails to nobody: its subscription was not confirmed in time`,
  ]);
});

it("npm run smoke -- --stage goes on without the AWS CLI", async () => {
  expect(await linesWith(join(process.execPath, ".."))).toEqual([
    "Whether all mails of alarms are confirmed is unknown: There is no program aws",
  ]);
});
