import { CfnOutput, DefaultStackSynthesizer, Duration, Stack, type StackProps } from "aws-cdk-lib";
import { CfnOIDCProvider, PolicyDocument, PolicyStatement, Role, WebIdentityPrincipal } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";
import { doorSecretName } from "../operate/door.ts";
import type { DatabaseSettings, PipelineSettings, Settings, StageSettings } from "../settings/schema.ts";
import { cdnRegion, distributionsOf } from "./monitoring/cdn-metrics.ts";
import { acknowledge, wildcardFinding } from "./shared/acknowledge.ts";

export interface PipelineStackProps extends Pick<StackProps, "env" | "tags"> {
  readonly pipeline: PipelineSettings;
  readonly settings: Settings;
}

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
export class PipelineStack extends Stack {
  readonly #repository: string;
  readonly #provider: string;

  constructor(scope: Construct, id: string, { pipeline, settings, ...props }: PipelineStackProps) {
    super(scope, id, { ...props, description: "Colophon: the roles of the pipeline" });
    this.#repository = pipeline.repository;
    this.#provider = pipeline.provider ?? this.makeProvider();
    const { databases, stages, account } = settings;
    const owned = stages.flatMap((stage) => {
      const database = databases.find(({ name }) => name === stage.database);
      return database ? [{ stage, database }] : [];
    });
    this.addRole("DiffRole", "pull_request", {
      UseCdk: this.assume([
        ...this.cdkRoles(undefined, ["lookup"], [account.region, cdnRegion]),
        ...owned.flatMap(({ stage, database }) =>
          this.cdkRoles(database.qualifier, ["lookup"], regionsOf(account.region, database, stage)),
        ),
      ]),
    });
    for (const { stage, database } of owned) {
      const roles = this.cdkRoles(database.qualifier, deploying, regionsOf(account.region, database, stage));
      // The GitHub environment of a stage has the stage's name.
      const role = this.addRole(`${capitalized(stage.name)}DeployRole`, `environment:${stage.name}`, {
        UseCdk: this.assume(roles),
        ...(stage.edge ? { UseEdge: this.useEdge(stage.name, account.region) } : {}),
      });
      if (stage.edge)
        acknowledge(role, {
          [wildcardFinding(this.secretsOf(stage.name, account.region))]:
            "The keys of the stage's edge: their numbers change, and Secrets Manager adds letters to the names.",
        });
    }
  }

  private secretsOf(stage: string, region: string): string {
    return this.formatArn({ service: "secretsmanager", region, resource: `secret:${doorSecretName(stage, "*")}` });
  }

  private addRole(name: string, subject: string, inlinePolicies: Readonly<Record<string, PolicyDocument>>): Role {
    const role = new Role(this, name, {
      description: `For the workflows of ${this.#repository}`,
      assumedBy: new WebIdentityPrincipal(this.#provider, {
        StringEquals: {
          [`${issuer}:aud`]: "sts.amazonaws.com",
          [`${issuer}:sub`]: `repo:${this.#repository}:${subject}`,
        },
      }),
      inlinePolicies,
      // A first deployment waits for its database.
      maxSessionDuration: Duration.hours(2),
    });
    new CfnOutput(this, `${name}Arn`, { value: role.roleArn }).overrideLogicalId(name);
    return role;
  }

  /** The account's only provider for GitHub. It needs no thumbprints: IAM itself trusts GitHub's certificates. */
  private makeProvider(): string {
    const provider = new CfnOIDCProvider(this, "GitHub", {
      url: `https://${issuer}`,
      clientIdList: ["sts.amazonaws.com"],
    });
    return provider.attrArn;
  }

  private cdkRoles(
    qualifier = DefaultStackSynthesizer.DEFAULT_QUALIFIER,
    roles: readonly string[],
    regions: readonly string[],
  ): string[] {
    const { partition, account } = this;
    return regions.flatMap((region) =>
      roles.map((each) => `arn:${partition}:iam::${account}:role/cdk-${qualifier}-${each}-role-${account}-${region}`),
    );
  }

  private assume(roles: readonly string[]): PolicyDocument {
    const statement = new PolicyStatement({ actions: ["sts:AssumeRole"], resources: [...new Set(roles)] });
    return new PolicyDocument({ statements: [statement] });
  }

  /** After a deployment the edge is emptied, and the smoke test asks the API behind it by its key. */
  private useEdge(stage: string, region: string): PolicyDocument {
    const lambda = this.formatArn({ service: "lambda", region, resource: `function:colophon-${stage}-ops-invalidate` });
    const secrets = this.secretsOf(stage, region);
    return new PolicyDocument({
      statements: [
        new PolicyStatement({ actions: ["lambda:InvokeFunction"], resources: [lambda] }),
        new PolicyStatement({ actions: ["secretsmanager:GetSecretValue"], resources: [secrets] }),
      ],
    });
  }
}

/** The regions that a stage and its database have stacks in. */
function regionsOf(own: string, { backupRegion }: DatabaseSettings, stage: StageSettings): string[] {
  const cdn = distributionsOf(stage).length > 0 ? cdnRegion : undefined;
  return [...new Set([own, backupRegion, stage.imageBackupRegion, cdn])].filter((each) => each !== undefined);
}

const capitalized = (name: string) => `${name[0]?.toUpperCase()}${name.slice(1)}`;
