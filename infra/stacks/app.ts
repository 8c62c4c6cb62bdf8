import { join } from "node:path";
import { App, DefaultStackSynthesizer, type IStackSynthesizer, Stack, Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { copyBuild } from "../build/cached-build.ts";
import { type Packaged, packageFunctions } from "../build/package.ts";
import { runCommand } from "../command/command.ts";
import { databaseFunctions } from "../settings/database-functions.ts";
import type { Settings } from "../settings/schema.ts";
import { settings } from "../stages.ts";
import { addAccount } from "./account-stack.ts";
import { addApi } from "./api-stack.ts";
import { addBackupVault } from "./backup-stack.ts";
import { addCdnAlarms } from "./cdn-alarms-stack.ts";
import { originOf } from "./database/cluster.ts";
import { addDatabase, DatabaseStack } from "./database-stack.ts";
import { addFirewall, type EdgeFirewall } from "./firewall-stack.ts";
import { addImageCopies } from "./image-backup-stack.ts";
import { cdnRegion, distributionsOf } from "./monitoring/cdn-metrics.ts";
import { addPipeline } from "./pipeline-stack.ts";
import { globalPrefix } from "./shared/global-prefix.ts";

const features = {
  // Buckets let S3 deliver logs by policy, which AWS recommends over access control lists.
  "@aws-cdk/aws-s3:serverAccessLogsUseBucketPolicy": true,
  // The name would be the account's only one.
  "@aws-cdk/aws-s3:setUniqueReplicationRoleName": true,
  // Indentation would be a third of a template, and CloudFormation accepts at most 1 MB.
  "@aws-cdk/core:suppressTemplateIndentation": true,
};

/** The account and region of a stack, and by whose roles it is deployed. CloudFormation copies tags to all resources. */
interface Place {
  readonly region: string;
  readonly isProtected: boolean;
  /** Cost allocation tags. */
  readonly tags?: Readonly<Record<string, string>>;
  readonly qualifier?: string | undefined;
}

/** All stacks of these settings. With credentials of another account the CDK deploys nothing. */
export function makeApp(settings: Settings, functions: readonly Packaged[], outdir: string): App {
  // The command line adds context and metadata of its own; without them every synthesis gives the same templates.
  const app = new App({ outdir, analyticsReporting: false, treeMetadata: false, context: features });
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app, { verbose: true }));
  const { id: account, region, pipeline } = settings.account;
  const propsOf = (description: string, { region, isProtected, tags, qualifier }: Place) => ({
    env: { account, region },
    description: `Colophon: ${description}`,
    tags: { application: "colophon", ...tags },
    terminationProtection: isProtected,
    ...(qualifier ? { synthesizer: new DefaultStackSynthesizer({ qualifier }) as IStackSynthesizer } : {}),
  });
  const stackOf = (id: string, description: string, place: Place) => new Stack(app, id, propsOf(description, place));

  const once = stackOf("colophon-account", "what there is once in an account and region", {
    region,
    // Without its role no API writes logs, and the alarms that read them would never fire.
    isProtected: settings.stages.some(({ isProtected }) => isProtected),
  });
  addAccount(once, settings);
  if (pipeline) {
    const place = { region: cdnRegion, isProtected: false };
    addPipeline(stackOf("colophon-pipeline", "the roles of the pipeline", place), pipeline, settings);
  }
  for (const each of settings.databases) {
    const { name, qualifier, backupRegion } = each;
    const place = { region, isProtected: each.isProtected, tags: { database: name }, qualifier };
    const props = propsOf(`the database ${name}`, place);
    const database = new DatabaseStack(app, `colophon-${name}-database`, props, each.zones);
    addDatabase(database, each, {
      packages: functions.filter((it) => databaseFunctions.has(it.name)),
      edgeStage: settings.stages.find((stage) => stage.edge && stage.database === name)?.name,
    });
    if (backupRegion) {
      const description = `copies of the backups of database ${name}`;
      const copies = stackOf(`colophon-${name}-backup`, description, { ...place, region: backupRegion });
      addBackupVault(copies, each, region);
      database.addStackDependency(copies);
    }
    for (const stage of settings.stages.filter((it) => it.database === name)) {
      const { isProtected, imageBackupRegion, firewall } = stage;
      const prefix = globalPrefix(`colophon-${stage.name}`, region);
      const place = { region, isProtected, tags: { stage: stage.name }, qualifier };
      const hasDistributions = distributionsOf(stage).length > 0;
      const api = stackOf(`colophon-${stage.name}`, `the API of stage ${stage.name}`, place);
      for (const needed of [once, database]) api.addStackDependency(needed);
      let acls: EdgeFirewall | undefined;
      if (firewall && hasDistributions) {
        const description = `the firewall before CloudFront, of stage ${stage.name}`;
        const before = stackOf(`${prefix}-firewall`, description, { ...place, region: cdnRegion });
        acls = addFirewall(before, { prefix, stageRegion: region, settings: stage, firewall, endpoints });
        api.addStackDependency(before);
      }
      let imageCopies: string | undefined;
      if (imageBackupRegion) {
        const description = `copies of the images of stage ${stage.name}`;
        const there = stackOf(`colophon-${stage.name}-image-backup`, description, {
          ...place,
          region: imageBackupRegion,
        });
        imageCopies = addImageCopies(there, stage);
        api.addStackDependency(there);
      }
      addApi(api, {
        settings: stage,
        restoredFrom: originOf(each),
        knownContributor: each.knownContributor,
        endpoints,
        packages: functions,
        firewall: acls,
        imageCopies,
      });
      if (hasDistributions) {
        const description = `alarms on CloudFront for stage ${stage.name}`;
        const alarms = stackOf(`${prefix}-cdn-alarms`, description, {
          ...place,
          region: cdnRegion,
          isProtected: false,
        });
        addCdnAlarms(alarms, prefix, stage, api);
        alarms.addStackDependency(api);
      }
    }
  }
  return app;
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
