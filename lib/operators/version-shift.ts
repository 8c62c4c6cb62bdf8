import {
  type CodeDeployClient,
  GetApplicationRevisionCommand,
  GetDeploymentCommand,
  type RevisionLocation,
} from "@aws-sdk/client-codedeploy";
import * as z from "zod/mini";

/** What a deployment does: it moves the traffic of a function's alias from one version to another. */
export interface VersionShift {
  readonly functionName: string;
  readonly current: number;
  readonly target: number;
}

const version = z.pipe(
  z.string().check(z.regex(/^[1-9]\d*$/)),
  z.transform((text: string) => Number(text)),
);
const properties = z.object({ Name: z.string(), CurrentVersion: version, TargetVersion: version });
/** CodeDeploy, "AppSpec 'resources' section for AWS Lambda deployments". */
const appSpec = z.object({
  Resources: z.tuple([z.record(z.string(), z.object({ Properties: properties }))]),
});

/** @throws if the deployment does not say so of exactly one function */
export async function versionShiftOf(codeDeploy: CodeDeployClient, deploymentId: string): Promise<VersionShift> {
  const { deploymentInfo } = await codeDeploy.send(new GetDeploymentCommand({ deploymentId }));
  const { applicationName, revision } = deploymentInfo ?? {};
  const content = contentOf(revision) ?? (await registeredContent(codeDeploy, applicationName, revision));
  const [resource = {}] = appSpec.parse(JSON.parse(content)).Resources;
  const [only, ...others] = Object.values(resource);
  if (!only || others.length > 0) throw new Error(`Deployment ${deploymentId} is not of one function`);
  const { Name: functionName, CurrentVersion: current, TargetVersion: target } = only.Properties;
  return { functionName, current, target };
}

/** CloudFormation's revisions have the older of the two types. */
const contentOf = (revision?: RevisionLocation) => revision?.appSpecContent?.content ?? revision?.string?.content;

/** The content of a revision of which a deployment has only the digest. */
async function registeredContent(
  codeDeploy: CodeDeployClient,
  applicationName: string | undefined,
  revision: RevisionLocation | undefined,
): Promise<string> {
  const registered = await codeDeploy.send(new GetApplicationRevisionCommand({ applicationName, revision }));
  const content = contentOf(registered.revision);
  if (content === undefined) throw new Error("The revision of this deployment has no content");
  return content;
}
