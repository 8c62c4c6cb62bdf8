import { ArnFormat, CfnParameter, type Stack } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { StringParameter } from "aws-cdk-lib/aws-ssm";
import type { Construct } from "constructs";
import type { Packaged } from "../../build/package.ts";
import { databaseRoleOf } from "../../database-role.ts";
import type { Resource } from "../shared/service-function.ts";

/** The database's name within the cluster. */
export const databaseName = "colophon";

/** What the name of each cluster begins with that a database has had. */
export const clusterNames = (database: string) => `colophon-${database}-database`;

/** What others must know of a cluster. */
export interface Cluster {
  readonly arn: string;
  readonly identifier: string;
  /** Of the roles that functions log in as. */
  readonly publicSecretArn: string;
  readonly adminSecretArn: string;
}

/** As an API stack finds it. */
export interface FoundCluster extends Cluster {
  /**
   * Of all clusters that the database has had, as a pattern: while a release goes on by steps, old versions of functions
   * still use the cluster that a restored one takes the place of.
   */
  readonly arnsOfAll: string;
}

/** What its own stack knows besides. */
export interface OwnCluster extends Cluster {
  readonly masterSecretArn: string;
}

/**
 * How an API stack learns where its database is. Parameters, unlike exports of a stack, may change while they are in
 * use, so a cluster that was restored from a backup can take the place of the old one.
 */
export const parameterNames = (database: string): Record<keyof Cluster, string> => ({
  arn: `/colophon/${database}/cluster-arn`,
  identifier: `/colophon/${database}/cluster-identifier`,
  publicSecretArn: `/colophon/${database}/public-secret-arn`,
  adminSecretArn: `/colophon/${database}/admin-secret-arn`,
});

export function publishCluster(scope: Construct, database: string, cluster: Cluster): void {
  const names = parameterNames(database);
  const publish = (id: string, name: keyof Cluster) =>
    new StringParameter(scope, id, { parameterName: names[name], stringValue: cluster[name] });
  publish("ClusterArn", "arn");
  publish("ClusterIdentifier", "identifier");
  publish("PublicSecretArn", "publicSecretArn");
  publish("AdminSecretArn", "adminSecretArn");
}

export function findCluster(stack: Stack, database: string): FoundCluster {
  const names = parameterNames(database);
  // Every function refers to them, so they have short names, which the CDK's are not.
  const find = (id: string, name: keyof Cluster) =>
    new CfnParameter(stack, id, { type: "AWS::SSM::Parameter::Value<String>", default: names[name] }).valueAsString;
  return {
    arnsOfAll: stack.formatArn({
      service: "rds",
      resource: "cluster",
      resourceName: `${clusterNames(database)}*`,
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    }),
    arn: find("ClusterArn", "arn"),
    identifier: find("ClusterIdentifier", "identifier"),
    publicSecretArn: find("PublicSecretArn", "publicSecretArn"),
    adminSecretArn: find("AdminSecretArn", "adminSecretArn"),
  };
}

const statement = "rds-data:ExecuteStatement";
const transaction = ["rds-data:BeginTransaction", "rds-data:CommitTransaction", "rds-data:RollbackTransaction"];

/** The database as a function uses it: with the secret of its role, and no right to any other. */
export function databaseResource(cluster: Cluster | FoundCluster, { name, usesTransactions }: Packaged): Resource {
  const secretArn = databaseRoleOf(name) === "public" ? cluster.publicSecretArn : cluster.adminSecretArn;
  return resourceOf(cluster, secretArn, usesTransactions);
}

const reading = "secretsmanager:GetSecretValue";
const rotating = ["DescribeSecret", "PutSecretValue", "UpdateSecretVersionStage"].map(
  (each) => `secretsmanager:${each}`,
);

/** The database as its master uses it, who makes tables and roles, and sets the passwords that the roles' secrets say. */
export function ownResource(cluster: OwnCluster, { name }: Packaged): Resource {
  const { variables, policies } = resourceOf(cluster, cluster.masterSecretArn, true);
  const secrets = {
    DATABASE_PUBLIC_SECRET_ARN: cluster.publicSecretArn,
    DATABASE_ADMIN_SECRET_ARN: cluster.adminSecretArn,
  };
  const actions = [reading, ...(name === "ops-rotate-password" ? rotating : [])];
  return {
    variables: { ...variables, ...secrets },
    policies: { ...policies, SetPasswords: [new PolicyStatement({ actions, resources: Object.values(secrets) })] },
  };
}

function resourceOf(cluster: Cluster | FoundCluster, secretArn: string, usesTransactions: boolean): Resource {
  const arns = "arnsOfAll" in cluster ? cluster.arnsOfAll : cluster.arn;
  return {
    variables: { DATABASE_CLUSTER_ARN: cluster.arn, DATABASE_SECRET_ARN: secretArn, DATABASE_NAME: databaseName },
    policies: {
      UseDatabase: [
        new PolicyStatement({ actions: [statement, ...(usesTransactions ? transaction : [])], resources: [arns] }),
        new PolicyStatement({ actions: [reading], resources: [secretArn] }),
      ],
    },
    reasons: "arnsOfAll" in cluster ? { [finding(arns)]: patternReason } : {},
  };
}

/** As cdk-nag writes a finding. */
const finding = (arn: string) =>
  `AwsSolutions-IAM5[Resource::${arn.replace(/\$\{Token\[AWS\.(\w+)\.\d+\]\}/g, "<AWS::$1>")}]`;

const patternReason =
  "A cluster restored from a backup has another name. Until a release by steps is through, functions use both, and no other cluster is called so.";
