import { CfnOutput, DefaultStackSynthesizer, Duration, Stack } from "aws-cdk-lib";
import { CfnOIDCProvider, PolicyDocument, PolicyStatement, Role, WebIdentityPrincipal } from "aws-cdk-lib/aws-iam";
import { Construct } from "constructs";
import type { PipelineSettings, Settings } from "../settings/schema.ts";
import { cdnRegion, distributionsOf } from "./monitoring/cdn-metrics.ts";

export interface PipelineProps extends PipelineSettings {
  readonly settings: Settings;
}

const issuer = "token.actions.githubusercontent.com";

/**
 * The roles that workflows of the repository assume with tokens of GitHub, so there are no access keys. These roles may
 * assume roles of the CDK: workflows of pull requests the role that reads, workflows of environments also the roles that
 * deploy (CDK, "Bootstrapping"). By themselves they may do nothing but invalidate the edges after a deployment.
 */
export class Pipeline extends Construct {
  constructor(scope: Construct, id: string, { repository, provider, settings }: PipelineProps) {
    super(scope, id);
    const gitHub = provider ?? this.makeProvider();
    const copies = settings.databases.flatMap(({ backupRegion }) => backupRegion ?? []);
    const cdn = settings.stages.some((each) => distributionsOf(each).length > 0) ? [cdnRegion] : [];
    const regions = [...new Set([settings.account.region, ...copies, ...cdn])];
    const makeRole = (name: string, runs: readonly string[], roles: readonly string[], policies = {}) => {
      const { roleArn } = new Role(this, name, {
        description: `For the workflows of ${repository}`,
        assumedBy: new WebIdentityPrincipal(gitHub, {
          StringEquals: {
            [`${issuer}:aud`]: "sts.amazonaws.com",
            [`${issuer}:sub`]: runs.map((each) => `repo:${repository}:${each}`),
          },
        }),
        inlinePolicies: { UseCdk: this.assumeRoles(roles, regions), ...policies },
        // A first deployment waits for its database, and a gradual release for each function.
        maxSessionDuration: Duration.hours(2),
      });
      new CfnOutput(this, `${name}Arn`, { value: roleArn }).overrideLogicalId(name);
    };
    makeRole("DiffRole", ["pull_request"], ["lookup"]);
    makeRole(
      "DeployRole",
      // The GitHub environment of a stage has the stage's name.
      settings.stages.map(({ name }) => `environment:${name}`),
      ["lookup", "deploy", "file-publishing"],
      this.invalidateEdges(settings),
    );
  }

  /** After a deployment the edges forget what they have of the release before. */
  private invalidateEdges({ stages }: Settings): Readonly<Record<string, PolicyDocument>> {
    const resources = stages
      .filter(({ edge }) => edge)
      .map(({ name }) =>
        Stack.of(this).formatArn({ service: "lambda", resource: `function:colophon-${name}-ops-invalidate` }),
      );
    if (resources.length === 0) return {};
    const statements = [new PolicyStatement({ actions: ["lambda:InvokeFunction"], resources })];
    return { InvalidateEdges: new PolicyDocument({ statements }) };
  }

  /** The account's only provider for GitHub. It needs no thumbprints: IAM itself trusts GitHub's certificates. */
  private makeProvider(): string {
    const provider = new CfnOIDCProvider(this, "GitHub", {
      url: `https://${issuer}`,
      clientIdList: ["sts.amazonaws.com"],
    });
    return provider.attrArn;
  }

  private assumeRoles(roles: readonly string[], regions: readonly string[]): PolicyDocument {
    const { partition, account, synthesizer } = Stack.of(this);
    const qualifier = synthesizer.bootstrapQualifier ?? DefaultStackSynthesizer.DEFAULT_QUALIFIER;
    const resources = regions.flatMap((region) =>
      roles.map((each) => `arn:${partition}:iam::${account}:role/cdk-${qualifier}-${each}-role-${account}-${region}`),
    );
    return new PolicyDocument({ statements: [new PolicyStatement({ actions: ["sts:AssumeRole"], resources })] });
  }
}
