import { CfnParameter, RemovalPolicy, type Stack } from "aws-cdk-lib";
import type { DatabaseCluster, DatabaseClusterFromSnapshot } from "aws-cdk-lib/aws-rds";
import { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { StringParameter } from "aws-cdk-lib/aws-ssm";
import {
  databaseRoleOf,
  forEachRole,
  type LimitedRole,
  limitedRoles,
  secretVariables,
} from "../../build/database-role.ts";
import type { Packaged } from "../../build/package.ts";
import type { Resource } from "../shared/service-function.ts";

/** The database's name within the cluster. */
export const databaseName = "colophon";

/** The prefix of the names of all clusters that a database has had. */
export const clusterNames = (database: string) => `colophon-${database}-database`;

/** A cluster as the CDK makes it. */
export type AuroraCluster = DatabaseCluster | DatabaseClusterFromSnapshot;

/** A cluster for functions. */
export interface Cluster {
  readonly arn: string;
  readonly identifier: string;
  /**
   * A pattern for the ARNs of all clusters that the database has had, in API stacks. A cluster that was restored from a
   * backup has another name; until a release has moved, old versions of functions still use the one that it replaced. No
   * cluster of another database has this prefix.
   */
  readonly arnsOfAll?: string;
  /** The secret of a role as which functions log in. */
  readonly secretArnOf: (role: LimitedRole) => string;
}

/** A cluster as its own stack refers to it. */
export interface OwnCluster extends Cluster {
  readonly secretArns: Readonly<Record<LimitedRole, string>>;
  readonly masterSecretArn: string;
}

/** The logical id of a resource or parameter for a role: `PublicSecret`. */
const secretId = (role: LimitedRole) => `${role[0]?.toUpperCase()}${role.slice(1)}Secret`;

/**
 * The SSM parameter from which an API stack reads an ARN of the cluster, by its logical id: `ClusterArn` has the name
 * `/colophon/prod/cluster-arn`. Unlike exports of a stack, parameters may change while another stack uses them, so a
 * cluster that was restored from a backup can replace the old one.
 */
const parameterName = (database: string, id: string) =>
  `/colophon/${database}/${id.replaceAll(/\B[A-Z]/g, "-$&").toLowerCase()}`;

/** Makes the logins of the roles, and the parameters by which API stacks find the cluster. */
export function publishCluster(
  stack: Stack,
  database: string,
  { clusterArn: arn, clusterIdentifier: identifier, secret: master }: AuroraCluster,
): OwnCluster {
  if (!master) throw new Error("The cluster has no secret");
  const secretArns = forEachRole((role) => makeLogin(stack, secretId(role), `colophon_${role}`).secretArn);
  const secrets = limitedRoles.map((role) => [`${secretId(role)}Arn`, secretArns[role]] as const);
  for (const [id, stringValue] of [["ClusterArn", arn], ["ClusterIdentifier", identifier], ...secrets] as const)
    new StringParameter(stack, id, { parameterName: parameterName(database, id), stringValue });
  return { arn, identifier, masterSecretArn: master.secretArn, secretArns, secretArnOf: (role) => secretArns[role] };
}

/**
 * The login of a role. A deployment sets its password where PostgreSQL has another, as on a restored cluster. When the
 * template of the text changes, CloudFormation makes a new password, which PostgreSQL does not know.
 */
const makeLogin = (stack: Stack, id: string, username: string): Secret =>
  new Secret(stack, id, {
    description: `Password of ${username} in PostgreSQL`,
    generateSecretString: {
      secretStringTemplate: JSON.stringify({ username }),
      generateStringKey: "password",
      passwordLength: 40,
      excludePunctuation: true,
    },
    removalPolicy: RemovalPolicy.DESTROY,
  });

export function findCluster(stack: Stack, database: string): Cluster {
  // Every function refers to these parameters. The CDK's own names for them would be longer.
  const find = (id: string) => {
    const existing = stack.node.tryFindChild(id) as CfnParameter | undefined;
    const props = { type: "AWS::SSM::Parameter::Value<String>", default: parameterName(database, id) };
    return (existing ?? new CfnParameter(stack, id, props)).valueAsString;
  };
  return {
    arnsOfAll: arnsOfAll(stack, database),
    arn: find("ClusterArn"),
    identifier: find("ClusterIdentifier"),
    // A stage has no function for some roles, and so no parameter.
    secretArnOf: (role) => find(`${secretId(role)}Arn`),
  };
}

const arnsOfAll = (stack: Stack, database: string): string =>
  stack.formatArn({ service: "rds", resource: `cluster:${clusterNames(database)}*` });

const statement = "rds-data:ExecuteStatement";
const transaction = ["rds-data:BeginTransaction", "rds-data:CommitTransaction", "rds-data:RollbackTransaction"];

/**
 * The database for a function that asks it: with the secret of its role, and no right to another secret. Most functions
 * of an API use nothing else, so they share a role for each login.
 */
export function databaseResource(cluster: Cluster, { name, usesTransactions }: Packaged): Resource {
  const role = databaseRoleOf(name);
  if (role === "master") throw new Error(`${name} belongs to the database's stack, since it logs in as the master`);
  return {
    ...resourceOf(cluster, cluster.secretArnOf(role), usesTransactions),
    role: `${secretId(role).replace("Secret", "")}${usesTransactions ? "Paging" : ""}Role`,
  };
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

/** The database for an operators' function. */
export function operatorsResource(stack: Stack, database: string, cluster: OwnCluster, packaged: Packaged): Resource {
  if (packaged.name === "ops-check-copy") return comparisonResource(stack, database, cluster);
  return databaseRoleOf(packaged.name) === "master"
    ? ownResource(cluster, packaged)
    : databaseResource(cluster, packaged);
}

/** The database for `ops-check-copy`: as operators' functions read it, and what is restored beside it. */
function comparisonResource(stack: Stack, database: string, cluster: OwnCluster): Resource {
  const copies = arnsOfAll(stack, database);
  // RDS chooses the names of the secrets that it manages; the tag names their cluster.
  const secrets = stack.formatArn({ service: "secretsmanager", resource: "secret:rds!cluster-*" });
  const { operator } = cluster.secretArns;
  const { variables } = resourceOf(cluster, operator, false);
  return {
    // A record has the URL of its image, which the check ignores.
    variables: { ...variables, IMAGE_BASE_URL: "https://images.invalid" },
    policies: {
      CompareCopy: [
        { actions: [statement], resources: [copies] },
        { actions: [reading], resources: [operator] },
        {
          actions: [reading],
          resources: [secrets],
          conditions: { StringLike: { "secretsmanager:ResourceTag/aws:rds:primaryDBClusterArn": copies } },
        },
      ],
    },
  };
}

function resourceOf({ arn, arnsOfAll }: Cluster, secretArn: string, usesTransactions: boolean): Resource {
  return {
    variables: { DATABASE_CLUSTER_ARN: arn, DATABASE_SECRET_ARN: secretArn, DATABASE_NAME: databaseName },
    policies: {
      UseDatabase: [
        { actions: [statement, ...(usesTransactions ? transaction : [])], resources: [arnsOfAll ?? arn] },
        { actions: [reading], resources: [secretArn] },
      ],
    },
  };
}
