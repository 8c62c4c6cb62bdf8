import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { CustomResource } from "aws-cdk-lib";
import type { Function as Lambda } from "aws-cdk-lib/aws-lambda";
import { Construct, type IDependable } from "constructs";
import { type FunctionProps, makeFunction } from "../shared/service-function.ts";
import { type OwnCluster, ownResource } from "./database.ts";

export interface MigrationProps extends Pick<FunctionProps, "prefix" | "packaged" | "log" | "timeout"> {
  readonly cluster: OwnCluster;
  /** Whether an update may find an empty database. */
  readonly mayBeEmpty: boolean;
  /** The migrations run after the cluster and its writer have been created. */
  readonly database: IDependable;
}

/**
 * Runs the migrations in every deployment that changes them or the code that runs them. API stacks depend on this
 * stack, so their functions change afterwards. When a migration fails, the deployment fails, the reason names the
 * migration's file, and no function changes.
 * @returns the function that runs them
 */
export function addMigration(scope: Construct, { cluster, mayBeEmpty, database, ...props }: MigrationProps): Lambda {
  const { packaged } = props;
  const lambda = makeFunction(new Construct(scope, "Function"), {
    ...props,
    description: "Runs the migrations during a deployment",
    resources: [ownResource(cluster, packaged)],
    // A failed migration would fail again.
    retryAttempts: 0,
  });
  const run = new CustomResource(scope, "Migrations", {
    resourceType: "Custom::Migration",
    serviceToken: lambda.functionArn,
    // CloudFormation runs the migrations again when a property changes: new code, or a restored cluster.
    properties: {
      Code: createHash("sha256").update(readFileSync(packaged.file)).digest("hex"),
      Cluster: cluster.arn,
      ...(mayBeEmpty ? { MayBeEmpty: true } : {}),
    },
    serviceTimeout: props.timeout,
  });
  run.node.addDependency(database);
  return lambda;
}
