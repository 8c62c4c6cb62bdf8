import { join } from "node:path";
import { App, DefaultStackSynthesizer, type IStackSynthesizer, Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { copyBuild } from "../build/cached-build.ts";
import { type Packaged, packageFunctions } from "../build/package.ts";
import { runCommand } from "../command/command.ts";
import { databaseFunctions } from "../settings/database-functions.ts";
import type { Settings } from "../settings/schema.ts";
import { settings } from "../stages.ts";
import { AccountStack } from "./account-stack.ts";
import { ApiStack } from "./api-stack.ts";
import { BackupStack } from "./backup-stack.ts";
import { CdnAlarmsStack } from "./cdn-alarms-stack.ts";
import { originOf } from "./database/cluster.ts";
import { DatabaseStack } from "./database-stack.ts";
import { FirewallStack } from "./firewall-stack.ts";
import { ImageBackupStack } from "./image-backup-stack.ts";
import { cdnRegion, distributionsOf } from "./monitoring/cdn-metrics.ts";
import { PipelineStack } from "./pipeline-stack.ts";
import { globalPrefix } from "./shared/global-prefix.ts";

const features = {
  // Buckets let S3 deliver logs by policy, which AWS recommends over access control lists.
  "@aws-cdk/aws-s3:serverAccessLogsUseBucketPolicy": true,
  // The name would be the account's only one.
  "@aws-cdk/aws-s3:setUniqueReplicationRoleName": true,
  // Indentation would be a third of a template, and CloudFormation accepts at most 1 MB.
  "@aws-cdk/core:suppressTemplateIndentation": true,
};

/** Cost allocation tags. CloudFormation copies the tags of a stack to all of its resources. */
const tagsOf = (part: Readonly<Record<string, string>>) => ({ application: "colophon", ...part });

/** All stacks of these settings. With credentials of another account the CDK deploys nothing. */
export function makeApp(settings: Settings, functions: readonly Packaged[], outdir: string): App {
  // The command line adds context and metadata of its own; without them every synthesis gives the same templates.
  const app = new App({ outdir, analyticsReporting: false, treeMetadata: false, context: features });
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app, { verbose: true }));
  const { id, region, pipeline } = settings.account;
  const account = new AccountStack(app, "colophon-account", {
    env: { account: id, region },
    tags: tagsOf({}),
    settings,
  });
  if (pipeline) {
    const env = { account: id, region: cdnRegion };
    new PipelineStack(app, "colophon-pipeline", { env, tags: tagsOf({}), pipeline, settings });
  }
  for (const each of settings.databases) {
    const place = placing(id, each.qualifier);
    const tags = { database: each.name };
    const database = new DatabaseStack(app, `colophon-${each.name}-database`, {
      ...place(region, tags),
      settings: each,
      operatorFunctions: functions.filter(({ name }) => databaseFunctions.has(name)),
      edgeStage: settings.stages.find(({ database, edge }) => edge && database === each.name)?.name,
    });
    if (each.backupRegion) {
      const copies = new BackupStack(app, `colophon-${each.name}-backup`, {
        ...place(each.backupRegion, tags),
        settings: each,
        databaseRegion: region,
      });
      database.addStackDependency(copies);
    }
    for (const stage of settings.stages.filter((it) => it.database === each.name)) {
      const prefix = globalPrefix(`colophon-${stage.name}`, region);
      const tags = { stage: stage.name };
      const hasDistributions = distributionsOf(stage).length > 0;
      const ofCdn = { ...place(cdnRegion, tags), prefix, settings: stage };
      const firewall =
        stage.firewall && hasDistributions
          ? new FirewallStack(app, `${prefix}-firewall`, {
              ...ofCdn,
              stageRegion: region,
              firewall: stage.firewall,
              endpoints,
            })
          : undefined;
      const copies = stage.imageBackupRegion
        ? new ImageBackupStack(app, `colophon-${stage.name}-image-backup`, {
            ...place(stage.imageBackupRegion, tags),
            settings: stage,
          })
        : undefined;
      const api = new ApiStack(app, `colophon-${stage.name}`, {
        ...place(region, tags),
        settings: stage,
        restoredFrom: originOf(each),
        knownContributor: each.knownContributor,
        endpoints,
        packages: functions,
        firewall: firewall?.acls,
        imageCopies: copies?.bucketArn,
      });
      for (const needed of [copies, firewall, account, database]) if (needed) api.addStackDependency(needed);
      if (hasDistributions)
        new CdnAlarmsStack(app, `${prefix}-cdn-alarms`, { ...ofCdn, stage: api }).addStackDependency(api);
    }
  }
  return app;
}

/** Where and how the stacks of a database and its stages are deployed. */
const placing =
  (account: string, qualifier: string | undefined) => (region: string, tags: Readonly<Record<string, string>>) => ({
    env: { account, region },
    tags: tagsOf(tags),
    ...(qualifier ? { synthesizer: new DefaultStackSynthesizer({ qualifier }) as IStackSynthesizer } : {}),
  });

/** Writes the templates of every stage, without credentials and without a network. Returns their folder. */
export async function synthesize(): Promise<string> {
  const root = join(import.meta.dirname, "../..");
  const outdir = join(root, "node_modules/.cache/colophon/synth");
  const functions = await packageFunctions(await copyBuild(outdir), { offline: true });
  const templates = process.env.CDK_OUTDIR ?? join(root, "cdk.out");
  makeApp(settings, functions, templates).synth();
  return templates;
}

const usage =
  "npm run synth\n  writes the templates of every stage to cdk.out/, without credentials and without a network";

if (import.meta.main) await runCommand({ usage }, async () => void (await synthesize()));
