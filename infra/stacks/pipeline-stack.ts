import { CfnOutput, DefaultStackSynthesizer, Duration, type Stack } from "aws-cdk-lib";
import { CfnOIDCProvider, WebIdentityPrincipal } from "aws-cdk-lib/aws-iam";
import { doorSecretName } from "../operate/door.ts";
import type { PipelineSettings, Settings } from "../settings/schema.ts";
import { cdnRegion, distributionsOf } from "./monitoring/cdn.ts";
import { makeRole, type Policies } from "./shared/role.ts";
import { aliasName } from "./shared/stage.ts";

const issuer = "token.actions.githubusercontent.com";

/** The CDK's roles that deploy; all of them but the last one change something. */
const deploying = ["deploy", "file-publishing", "lookup"];

/**
 * The roles that workflows of the repository assume with tokens of GitHub, so there are no access keys: one for pull
 * requests, which reads, and one for each stage, which only jobs of its environment may assume. A role may assume those of
 * the CDK that have the qualifier of its database (CDK, "Bootstrapping"), and by itself invalidate its edge.
 *
 * Roles belong to no region. So the stack is where IAM itself is, and stays when a stage moves to another region.
 */
export function addPipeline(
  stack: Stack,
  { repository, provider = makeProvider(stack) }: PipelineSettings,
  { databases, stages, account: { id, region } }: Settings,
): void {
  const { partition } = stack;
  const cdkRoles = (qualifier: string, roles: readonly string[], regions: Iterable<string>) =>
    [...regions].flatMap((each) =>
      roles.map((role) => `arn:${partition}:iam::${id}:role/cdk-${qualifier}-${role}-role-${id}-${each}`),
    );
  const allow = (action: string, resources: string[]) => ({ actions: [action], resources });
  const assume = (roles: readonly string[]) => allow("sts:AssumeRole", [...new Set(roles)]);
  const addRole = (name: string, subject: string, policies: Policies): void => {
    const assumedBy = new WebIdentityPrincipal(provider, {
      StringEquals: { [`${issuer}:aud`]: "sts.amazonaws.com", [`${issuer}:sub`]: `repo:${repository}:${subject}` },
    });
    const role = makeRole(stack, name, assumedBy, policies, {
      description: `For the workflows of ${repository}`,
      // A first deployment waits for its database.
      maxSessionDuration: Duration.hours(2),
    });
    new CfnOutput(stack, `${name}Arn`, { value: role.roleArn }).overrideLogicalId(name);
  };

  const reading = cdkRoles(DefaultStackSynthesizer.DEFAULT_QUALIFIER, ["lookup"], [region, cdnRegion]);
  for (const stage of stages) {
    const { name, edge, imageBackupRegion } = stage;
    const database = databases.find((each) => each.name === stage.database);
    const qualifier = database?.qualifier ?? DefaultStackSynthesizer.DEFAULT_QUALIFIER;
    const cdn = distributionsOf(stage).length > 0 ? cdnRegion : undefined;
    /** Those in which stage and database have stacks. */
    const regions = new Set([region, database?.backupRegion, imageBackupRegion, cdn].filter((it) => it !== undefined));
    reading.push(...cdkRoles(qualifier, ["lookup"], regions));
    // After a deployment the edge is emptied, and the smoke test asks the API behind it by its key.
    const invalidation = {
      service: "lambda",
      region,
      resource: `function:colophon-${name}-ops-invalidate:${aliasName}`,
    };
    // The numbers of the keys change, and Secrets Manager adds letters to the names.
    const keys = stack.formatArn({
      service: "secretsmanager",
      region,
      resource: `secret:${doorSecretName(name, "*")}`,
    });
    const useEdge = [
      allow("lambda:InvokeFunction", [stack.formatArn(invalidation)]),
      allow("secretsmanager:GetSecretValue", [keys]),
    ];
    // The GitHub environment of a stage has the stage's name.
    addRole(`${name[0]?.toUpperCase()}${name.slice(1)}DeployRole`, `environment:${name}`, {
      UseCdk: [assume(cdkRoles(qualifier, deploying, regions))],
      ...(edge ? { UseEdge: useEdge } : {}),
    });
  }
  addRole("DiffRole", "pull_request", { UseCdk: [assume(reading)] });
}

/** The account's only provider for GitHub. It needs no thumbprints: IAM itself trusts GitHub's certificates. */
const makeProvider = (stack: Stack): string =>
  new CfnOIDCProvider(stack, "GitHub", { url: `https://${issuer}`, clientIdList: ["sts.amazonaws.com"] }).attrArn;
