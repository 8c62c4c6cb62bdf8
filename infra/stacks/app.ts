import { join } from "node:path";
import { App, DefaultStackSynthesizer, type IStackSynthesizer, Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { copyBuild } from "../build/cached-build.ts";
import { type Packaged, packageFunctions } from "../build/package.ts";
import { runCommand } from "../command/command.ts";
import { databaseFunctions } from "../settings/database-functions.ts";
import type { Settings, StageSettings } from "../settings/schema.ts";
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
      const firewall = makeFirewall(app, prefix, region, stage, place);
      const copies = makeImageBackup(app, stage, place);
      const api = new ApiStack(app, `colophon-${stage.name}`, {
        ...place(region, { stage: stage.name }),
        settings: stage,
        restoredFrom: originOf(each),
        knownContributor: each.knownContributor,
        endpoints,
        packages: functions,
        firewall: firewall?.acls,
        imageCopies: copies?.bucketArn,
      });
      if (copies) api.addStackDependency(copies);
      if (firewall) api.addStackDependency(firewall);
      api.addStackDependency(account);
      api.addStackDependency(database);
      if (distributionsOf(stage).length > 0) {
        const alarms = new CdnAlarmsStack(app, `${prefix}-cdn-alarms`, {
          ...place(cdnRegion, { stage: stage.name }),
          prefix,
          settings: stage,
          stage: api,
        });
        alarms.addStackDependency(api);
      }
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

type Place = ReturnType<typeof placing>;

function makeFirewall(
  app: App,
  prefix: string,
  stageRegion: string,
  settings: StageSettings,
  place: Place,
): FirewallStack | undefined {
  if (!settings.firewall || distributionsOf(settings).length === 0) return undefined;
  return new FirewallStack(app, `${prefix}-firewall`, {
    ...place(cdnRegion, { stage: settings.name }),
    prefix,
    stageRegion,
    settings,
    firewall: settings.firewall,
    endpoints,
  });
}

function makeImageBackup(app: App, settings: StageSettings, place: Place): ImageBackupStack | undefined {
  if (!settings.imageBackupRegion) return undefined;
  return new ImageBackupStack(app, `colophon-${settings.name}-image-backup`, {
    ...place(settings.imageBackupRegion, { stage: settings.name }),
    settings,
  });
}

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
