import {
  AssociateAliasCommand,
  CloudFrontClient,
  type DistributionSummary,
  paginateListDistributions,
} from "@aws-sdk/client-cloudfront";
import { messageOf, runCommand, UsageError } from "../command/command.ts";
import { print } from "../command/print.ts";
import type { StageSettings } from "../settings/schema.ts";
import { settings } from "../stages.ts";
import { commentOf } from "./distribution-comment.ts";
import { expectOwnAccount, stageNamed } from "./stage.ts";

const usage =
  "npm run move-domains -- --stage NAME [--dry-run]\n" +
  "  moves the domains of a stage from the distributions that have them to those in the region of infra/stages.ts\n" +
  "  --dry-run  shows what it would do, and the DNS records that CloudFront wants to see first";

export interface Move {
  readonly stage: string;
  /** @default that of the settings */
  readonly region?: string;
  readonly isDryRun: boolean;
  readonly print: (line: string) => void;
}

/**
 * Moves all domains of a stage. When some cannot be moved, it moves the others and throws; the same again moves what is
 * left.
 */
export async function moveDomains({ stage, region = settings.account.region, isDryRun, print }: Move): Promise<void> {
  const domains = domainsOf(stageNamed(stage));
  if (domains.length === 0) throw new Error(`Stage ${stage} has no distribution of CloudFront`);
  const client = new CloudFrontClient({ region: "us-east-1", maxAttempts: 10 });
  const distributions = await distributionsIn(client);
  const moves = domains.map(({ content, domain }) => {
    const target = distributions.find(({ Comment }) => Comment === commentOf(content, domain, region));
    if (!target) throw new Error(`There is no distribution for ${domain} in ${region}: deploy the stage first`);
    return { domain, target, source: distributions.find(({ Aliases }) => Aliases?.Items?.includes(domain)) };
  });

  const failed: string[] = [];
  for (const { domain, target, source } of moves) {
    const { Id: id, DomainName: address } = target;
    if (source === target) {
      print(`${domain}: is at ${id} already`);
      continue;
    }
    print(`${domain}: ${source?.Id ?? "no distribution of this account"} -> ${id}${isDryRun ? ", if DNS has" : ""}`);
    if (isDryRun) print(`  _${domain} TXT ${address}`);
    else await move(client, id, domain).catch((error) => failed.push(`${domain} has not moved: ${messageOf(error)}`));
  }
  if (failed.length > 0) {
    throw new Error(`${failed.join("\n")}\nCloudFront wants the TXT records that --dry-run shows; then run it again`);
  }
  for (const { domain, target } of moves) print(`Point ${domain} to ${target.DomainName}`);
  print('Then set "hasAliases: true" and deploy: a deployment without it takes the domains away again.');
}

const domainsOf = ({ edge, uploads, imageDomain }: StageSettings) => [
  ...(edge ? [{ content: "API", domain: edge.domain }] : []),
  ...(uploads ? [{ content: "Images", domain: imageDomain }] : []),
];

async function distributionsIn(client: CloudFrontClient): Promise<readonly DistributionSummary[]> {
  const all: DistributionSummary[] = [];
  for await (const { DistributionList } of paginateListDistributions({ client }, {})) {
    all.push(...(DistributionList?.Items ?? []));
  }
  const arn = all[0]?.ARN;
  if (arn) expectOwnAccount(arn);
  return all;
}

const move = (client: CloudFrontClient, TargetDistributionId: string | undefined, Alias: string) =>
  client.send(new AssociateAliasCommand({ TargetDistributionId, Alias }));

const flags = { stage: { type: "string" }, "dry-run": { type: "boolean" } } as const;

export const syntax = { usage, flags };

if (import.meta.main) {
  await runCommand(syntax, async ({ stage, "dry-run": isDryRun = false }) => {
    if (stage === undefined) throw new UsageError("--stage is missing");
    await moveDomains({ stage, isDryRun, print });
  });
}
