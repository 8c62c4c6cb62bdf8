import type { Stack } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { StringParameter } from "aws-cdk-lib/aws-ssm";
import type { Construct } from "constructs";
import type { Resource } from "./service-function.ts";

/** The database's name within the cluster. */
export const databaseName = "colophon";

/** What others must know of a cluster. */
export interface Cluster {
  readonly arn: string;
  readonly secretArn: string;
  readonly identifier: string;
}

/**
 * How an API stack learns where its database is. Parameters, unlike exports of a stack, may change while they are in
 * use, so a cluster that was restored from a backup can take the place of the old one.
 */
export const parameterNames = (database: string): Record<keyof Cluster, string> => ({
  arn: `/colophon/${database}/cluster-arn`,
  secretArn: `/colophon/${database}/secret-arn`,
  identifier: `/colophon/${database}/cluster-identifier`,
});

export function publishCluster(scope: Construct, database: string, cluster: Cluster): void {
  const names = parameterNames(database);
  new StringParameter(scope, "ClusterArn", { parameterName: names.arn, stringValue: cluster.arn });
  new StringParameter(scope, "SecretArn", { parameterName: names.secretArn, stringValue: cluster.secretArn });
  new StringParameter(scope, "ClusterIdentifier", { parameterName: names.identifier, stringValue: cluster.identifier });
}

export function findCluster(stack: Stack, database: string): Cluster {
  const names = parameterNames(database);
  return {
    arn: StringParameter.valueForStringParameter(stack, names.arn),
    secretArn: StringParameter.valueForStringParameter(stack, names.secretArn),
    identifier: StringParameter.valueForStringParameter(stack, names.identifier),
  };
}

const statement = "rds-data:ExecuteStatement";
const transaction = ["rds-data:BeginTransaction", "rds-data:CommitTransaction", "rds-data:RollbackTransaction"];

export interface DatabaseUse {
  /** Whether statements may also run in transactions, as only migrations do. */
  readonly transactions: boolean;
}

/** The database as a function uses it: one statement at a time unless said otherwise. */
export const databaseResource = (cluster: Cluster, use?: DatabaseUse): Resource => ({
  variables: {
    DATABASE_CLUSTER_ARN: cluster.arn,
    DATABASE_SECRET_ARN: cluster.secretArn,
    DATABASE_NAME: databaseName,
  },
  policies: {
    UseDatabase: [
      new PolicyStatement({
        actions: [statement, ...(use?.transactions ? transaction : [])],
        resources: [cluster.arn],
      }),
      new PolicyStatement({ actions: ["secretsmanager:GetSecretValue"], resources: [cluster.secretArn] }),
    ],
  },
});
