import { CfnOutput, DefaultStackSynthesizer, Duration, Stack } from "aws-cdk-lib";
import { CfnOIDCProvider, PolicyDocument, PolicyStatement, Role, WebIdentityPrincipal } from "aws-cdk-lib/aws-iam";
import { Construct } from "constructs";
import type { PipelineSettings, Settings } from "../stages.ts";

export interface PipelineProps extends PipelineSettings {
  readonly settings: Settings;
}

const issuer = "token.actions.githubusercontent.com";

/**
 * The roles of the repository's workflows, which show tokens of GitHub that tell where they run; there are no keys. Each
 * may do no more than take on roles of the CDK: those of pull requests the one that reads, those of environments the ones
 * that deploy (CDK, "Bootstrapping").
 */
export class Pipeline extends Construct {
  constructor(scope: Construct, id: string, { repository, provider, settings }: PipelineProps) {
    super(scope, id);
    const gitHub = provider ?? this.makeProvider();
    const copies = settings.databases.flatMap(({ backupRegion }) => backupRegion ?? []);
    const regions = [...new Set([settings.account.region, ...copies])];
    const makeRole = (name: string, runs: readonly string[], roles: readonly string[]) => {
      const { roleArn } = new Role(this, name, {
        description: `For the workflows of ${repository}`,
        assumedBy: new WebIdentityPrincipal(gitHub, {
          StringEquals: {
            [`${issuer}:aud`]: "sts.amazonaws.com",
            [`${issuer}:sub`]: runs.map((each) => `repo:${repository}:${each}`),
          },
        }),
        inlinePolicies: { UseCdk: this.takingOn(roles, regions) },
        // A first deployment waits for its database, and a gradual one for every function.
        maxSessionDuration: Duration.hours(2),
      });
      new CfnOutput(this, `${name}Arn`, { value: roleArn }).overrideLogicalId(name);
    };
    makeRole("DiffRole", ["pull_request"], ["lookup"]);
    makeRole(
      "DeployRole",
      // Each stage has an environment of its name.
      settings.stages.map(({ name }) => `environment:${name}`),
      ["lookup", "deploy", "file-publishing"],
    );
  }

  /** One for the account. IAM knows by itself whose certificates GitHub's tokens are signed with. */
  private makeProvider(): string {
    const provider = new CfnOIDCProvider(this, "GitHub", {
      url: `https://${issuer}`,
      clientIdList: ["sts.amazonaws.com"],
    });
    return provider.attrArn;
  }

  private takingOn(roles: readonly string[], regions: readonly string[]): PolicyDocument {
    const { partition, account, synthesizer } = Stack.of(this);
    const qualifier = synthesizer.bootstrapQualifier ?? DefaultStackSynthesizer.DEFAULT_QUALIFIER;
    const resources = regions.flatMap((region) =>
      roles.map((each) => `arn:${partition}:iam::${account}:role/cdk-${qualifier}-${each}-role-${account}-${region}`),
    );
    return new PolicyDocument({ statements: [new PolicyStatement({ actions: ["sts:AssumeRole"], resources })] });
  }
}
