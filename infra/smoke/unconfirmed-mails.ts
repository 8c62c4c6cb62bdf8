import { execFile } from "node:child_process";
import { promisify } from "node:util";
import * as z from "zod/mini";
import { stageNamed } from "../operate/stage.ts";
import { settings } from "../settings/settings.ts";

const subscriptionSchema = z.object({ TopicArn: z.string(), SubscriptionArn: z.string(), Endpoint: z.string() });
const topicsSchema = z.object({ Topics: z.array(z.object({ TopicArn: z.string() })) });
const subscriptionsSchema = z.object({ Subscriptions: z.array(subscriptionSchema) });

/**
 * Says of which topics of alarms nobody gets mails yet: of the account, the stage and its database, in all their regions.
 * SNS forgets a subscription that is not confirmed within days, so a topic may have none.
 */
export async function unconfirmedMails(stageName: string): Promise<string[]> {
  const stage = stageNamed(stageName);
  const database = settings.databases.find(({ name }) => name === stage.database);
  const regions = [
    settings.account.region,
    database?.backupRegion,
    stage.edge || stage.uploads ? "us-east-1" : undefined,
  ];
  const isOurs = new RegExp(`:colophon-(?:account|${stage.name}|${stage.database})-`);
  const found = await Promise.all(
    [...new Set(regions)].map(async (region) => {
      if (region === undefined) return [];
      const { Topics } = z.parse(topicsSchema, await sns("list-topics", region));
      const { Subscriptions } = z.parse(subscriptionsSchema, await sns("list-subscriptions", region));
      return Topics.map(({ TopicArn }) => TopicArn)
        .filter((topic) => isOurs.test(topic))
        .flatMap((topic) => sentencesOf(topic, Subscriptions));
    }),
  );
  return found.flat();
}

function sentencesOf(topic: string, all: readonly z.output<typeof subscriptionSchema>[]): string[] {
  const subscriptions = all.filter(({ TopicArn }) => TopicArn === topic);
  if (subscriptions.length === 0) return [`${topic} mails to nobody: its subscription was not confirmed in time`];
  const pending = subscriptions.filter(({ SubscriptionArn }) => SubscriptionArn === "PendingConfirmation");
  return pending.map(({ Endpoint }) => `${Endpoint} has not confirmed the mails of ${topic}`);
}

/** By the AWS CLI, which operators have. */
async function sns(command: string, region: string): Promise<unknown> {
  const { stdout } = await promisify(execFile)("aws", ["sns", command, "--region", region, "--output", "json"]);
  return JSON.parse(stdout);
}
