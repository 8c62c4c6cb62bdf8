import { join } from "node:path";
import { App, DefaultStackSynthesizer, type IStackSynthesizer, Stack, Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";
import { copyBuild } from "../build/cached-build.ts";
import { type Packaged, packageFunctions } from "../build/package.ts";
import { newCommand, runCommand } from "../command/command.ts";
import { isOfDatabase } from "../settings/database-functions.ts";
import type { Settings } from "../settings/schema.ts";
import { settings } from "../settings/settings.ts";
import { addAccount } from "./account-stack.ts";
import { addApi } from "./api-stack.ts";
import { addBackupVault } from "./database/backups.ts";
import { originOf } from "./database/cluster.ts";
import { addDatabase } from "./database-stack.ts";
import { addFirewall } from "./firewall-stack.ts";
import { addCdnAlarms, cdnRegion, distributionsOf } from "./monitoring/cdn.ts";
import { addPipeline } from "./pipeline-stack.ts";
import { globalPrefix } from "./shared/global-prefix.ts";
import { addImageCopies } from "./sites/images.ts";

const features = {
  // Buckets let S3 deliver logs by policy, which AWS recommends over access control lists.
  "@aws-cdk/aws-s3:serverAccessLogsUseBucketPolicy": true,
  // The name would be the account's only one.
  "@aws-cdk/aws-s3:setUniqueReplicationRoleName": true,
  // Indentation would be a third of a template, and CloudFormation accepts at most 1 MB.
  "@aws-cdk/core:suppressTemplateIndentation": true,
};

/** The region of a stack, and by whose roles it is deployed. CloudFormation copies tags to all resources. */
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
  const stackOf = (id: string, description: string, { region, isProtected, tags, qualifier }: Place) =>
    new Stack(app, id, {
      env: { account, region },
      description: `Colophon: ${description}`,
      tags: { application: "colophon", ...tags },
      terminationProtection: isProtected,
      ...(qualifier ? { synthesizer: new DefaultStackSynthesizer({ qualifier }) as IStackSynthesizer } : {}),
    });

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
    const { name, qualifier, backupRegion, knownContributor } = each;
    const place = { region, isProtected: each.isProtected, tags: { database: name }, qualifier };
    const database = stackOf(`colophon-${name}-database`, `the database ${name}`, place);
    const stages = settings.stages.filter((stage) => stage.database === name);
    addDatabase(database, each, {
      packages: functions.filter((it) => isOfDatabase(it.name)),
      edgeStage: stages.find(({ edge }) => edge)?.name,
    });
    if (backupRegion) {
      const description = `copies of the backups of database ${name}`;
      const copies = stackOf(`colophon-${name}-backup`, description, { ...place, region: backupRegion });
      addBackupVault(copies, each, region);
      database.addStackDependency(copies);
    }
    for (const stage of stages) {
      const { imageBackupRegion, firewall } = stage;
      const here = { region, isProtected: stage.isProtected, tags: { stage: stage.name }, qualifier };
      const atCdn = { ...here, region: cdnRegion };
      const id = `colophon-${stage.name}`;
      const prefix = globalPrefix(id, region);
      const hasDistributions = distributionsOf(stage).length > 0;
      const api = stackOf(id, `the API of stage ${stage.name}`, here);
      /** A stack that is deployed before the API. */
      const before = (id: string, what: string, place: Place) => {
        const stack = stackOf(id, `${what} of stage ${stage.name}`, place);
        api.addStackDependency(stack);
        return stack;
      };
      for (const needed of [once, database]) api.addStackDependency(needed);
      addApi(api, {
        settings: stage,
        packages: functions,
        restoredFrom: originOf(each),
        knownContributor,
        webAcls:
          firewall && hasDistributions
            ? addFirewall(before(`${prefix}-firewall`, "the firewall before CloudFront,", atCdn), stage, firewall, api)
            : {},
        imageCopies:
          imageBackupRegion &&
          addImageCopies(
            before(`${id}-image-backup`, "copies of the images", { ...here, region: imageBackupRegion }),
            stage,
          ),
      });
      if (!hasDistributions) continue;
      const description = `alarms on CloudFront for stage ${stage.name}`;
      const alarms = stackOf(`${prefix}-cdn-alarms`, description, { ...atCdn, isProtected: false });
      addCdnAlarms(alarms, prefix, stage, api);
      alarms.addStackDependency(api);
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

if (import.meta.main) {
  const command = newCommand("npm run synth").description(
    "Writes the templates of every stage to cdk.out/, without credentials and without a network.",
  );
  await runCommand(command.action(async () => void (await synthesize())));
}
