import { CfnParameter, type Stack } from "aws-cdk-lib";
import { StringParameter } from "aws-cdk-lib/aws-ssm";
import type { Construct } from "constructs";
import {
  databaseRoleOf,
  forEachRole,
  type LimitedRole,
  limitedRoles,
  secretVariables,
} from "../../build/database-role.ts";
import type { Packaged } from "../../build/package.ts";
import { wildcardFinding } from "../shared/acknowledge.ts";
import type { Resource } from "../shared/service-function.ts";

/** The database's name within the cluster. */
export const databaseName = "colophon";

/** The prefix of the names of all clusters that a database has had. */
export const clusterNames = (database: string) => `colophon-${database}-database`;

/** The properties of a cluster that API stacks use. */
export interface Cluster {
  readonly arn: string;
  readonly identifier: string;
  /** The secrets of the roles as which functions log in. */
  readonly secretArns: Readonly<Record<LimitedRole, string>>;
}

/** A cluster as API stacks refer to it. */
export interface FoundCluster extends Omit<Cluster, "secretArns"> {
  /**
   * A pattern for the ARNs of all clusters that the database has had. Until a release has moved, old versions of
   * functions still use the cluster that a restored one has replaced.
   */
  readonly arnsOfAll: string;
  readonly secretArnOf: (role: LimitedRole) => string;
}

/** A cluster as its own stack refers to it. */
export interface OwnCluster extends Cluster {
  readonly masterSecretArn: string;
}

/**
 * The SSM parameters from which an API stack reads the cluster's ARNs. Unlike exports of a stack, parameters may change
 * while another stack uses them, so a cluster that was restored from a backup can replace the old one.
 */
export const parameterNames = (database: string): Cluster => ({
  arn: `/colophon/${database}/cluster-arn`,
  identifier: `/colophon/${database}/cluster-identifier`,
  secretArns: forEachRole((role) => `/colophon/${database}/${role}-secret-arn`),
});

/** The logical id of a resource or parameter for a role: `PublicSecret`. */
export const secretId = (role: LimitedRole) => `${role[0]?.toUpperCase()}${role.slice(1)}Secret`;

export function publishCluster(scope: Construct, database: string, cluster: Cluster): void {
  const names = parameterNames(database);
  const publish = (id: string, parameterName: string, stringValue: string) =>
    new StringParameter(scope, id, { parameterName, stringValue });
  publish("ClusterArn", names.arn, cluster.arn);
  publish("ClusterIdentifier", names.identifier, cluster.identifier);
  for (const role of limitedRoles) publish(`${secretId(role)}Arn`, names.secretArns[role], cluster.secretArns[role]);
}

export function findCluster(stack: Stack, database: string): FoundCluster {
  const names = parameterNames(database);
  // Every function refers to these parameters. The CDK's own names for them would be longer.
  const find = (id: string, name: string) =>
    new CfnParameter(stack, id, { type: "AWS::SSM::Parameter::Value<String>", default: name }).valueAsString;
  const secrets = new Map<LimitedRole, string>();
  return {
    arnsOfAll: arnsOfAll(stack, database),
    arn: find("ClusterArn", names.arn),
    identifier: find("ClusterIdentifier", names.identifier),
    // A stage has no function for some roles, and so no parameter.
    secretArnOf(role) {
      const arn = secrets.get(role) ?? find(`${secretId(role)}Arn`, names.secretArns[role]);
      secrets.set(role, arn);
      return arn;
    },
  };
}

const arnsOfAll = (stack: Stack, database: string): string =>
  stack.formatArn({ service: "rds", resource: `cluster:${clusterNames(database)}*` });

const statement = "rds-data:ExecuteStatement";
const transaction = ["rds-data:BeginTransaction", "rds-data:CommitTransaction", "rds-data:RollbackTransaction"];

/** The database for a function: with the secret of its role, and no right to another secret. */
export function databaseResource(cluster: Cluster | FoundCluster, { name, usesTransactions }: Packaged): Resource {
  const role = databaseRoleOf(name);
  if (role === "master") throw new Error(`${name} belongs to the database's stack, since it logs in as the master`);
  const secretArn = "secretArnOf" in cluster ? cluster.secretArnOf(role) : cluster.secretArns[role];
  return resourceOf(cluster, secretArn, usesTransactions);
}

const reading = "secretsmanager:GetSecretValue";
const rotating = ["secretsmanager:PutSecretValue", "secretsmanager:UpdateSecretVersionStage"];

/**
 * The database for a function that logs in as the master, which creates tables and roles and sets the roles' passwords.
 */
export function ownResource(cluster: OwnCluster, { name }: Packaged): Resource {
  const { variables, policies } = resourceOf(cluster, cluster.masterSecretArn, true);
  const secrets = secretVariables(cluster.secretArns);
  const actions = [reading, ...(name === "ops-rotate-password" ? rotating : [])];
  return {
    variables: { ...variables, ...secrets },
    policies: { ...policies, SetPasswords: [{ actions, resources: Object.values(secrets) }] },
  };
}

/** The database for `ops-check-copy`: as visitors and operators read it, and what is restored beside it. */
export function comparisonResource(stack: Stack, database: string, cluster: OwnCluster): Resource {
  const { public: catalogue, operator: ledger } = cluster.secretArns;
  const copies = arnsOfAll(stack, database);
  const secrets = stack.formatArn({ service: "secretsmanager", resource: "secret:rds!cluster-*" });
  const { variables } = resourceOf(cluster, ledger, false);
  return {
    // A record has the URL of its image, which the check ignores.
    variables: { ...variables, DATABASE_PUBLIC_SECRET_ARN: catalogue, IMAGE_BASE_URL: "https://images.invalid" },
    policies: {
      CompareCopy: [
        { actions: [statement], resources: [copies] },
        { actions: [reading], resources: [ledger, catalogue] },
        {
          actions: [reading],
          resources: [secrets],
          conditions: { StringLike: { "secretsmanager:ResourceTag/aws:rds:primaryDBClusterArn": copies } },
        },
      ],
    },
    reasons: {
      [wildcardFinding(copies)]: patternReason,
      [wildcardFinding(secrets)]: "RDS chooses the names of the secrets that it manages; the tag names their cluster.",
    },
  };
}

function resourceOf(cluster: Cluster | FoundCluster, secretArn: string, usesTransactions: boolean): Resource {
  const arns = "arnsOfAll" in cluster ? cluster.arnsOfAll : cluster.arn;
  return {
    variables: { DATABASE_CLUSTER_ARN: cluster.arn, DATABASE_SECRET_ARN: secretArn, DATABASE_NAME: databaseName },
    policies: {
      UseDatabase: [
        { actions: [statement, ...(usesTransactions ? transaction : [])], resources: [arns] },
        { actions: [reading], resources: [secretArn] },
      ],
    },
    reasons: "arnsOfAll" in cluster ? { [wildcardFinding(arns)]: patternReason } : {},
  };
}

const patternReason =
  "A cluster restored from a backup has another name. Until a release has moved, functions use both clusters; no cluster of another database has this prefix.";
