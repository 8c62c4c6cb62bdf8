import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { ArnFormat, CustomResource, Duration, Stack } from "aws-cdk-lib";
import type { LogGroup } from "aws-cdk-lib/aws-logs";
import { Construct, type IDependable } from "constructs";
import type { Packaged } from "../../build/package.ts";
import { longTimeout, type Resource, ServiceFunction } from "../shared/service-function.ts";
import { type OwnCluster, ownResource } from "./database.ts";

export interface MigrationProps {
  readonly packaged: Packaged;
  readonly prefix: string;
  readonly cluster: OwnCluster;
  /** Whether an update may find an empty database. */
  readonly mayBeEmpty: boolean;
  /** The migrations run after the cluster and its writer have been created. */
  readonly database: IDependable;
  readonly log: LogGroup;
}

/** A function's right to hand its work on to another invocation of itself. */
const watchingOn = (stack: Stack, name: string): Resource => ({
  policies: {
    WatchOn: [
      {
        actions: ["lambda:InvokeFunction"],
        // By its name, since the function itself depends on this right.
        resources: [
          stack.formatArn({
            service: "lambda",
            resource: "function",
            resourceName: name,
            arnFormat: ArnFormat.COLON_RESOURCE_NAME,
          }),
        ],
      },
    ],
  },
});

/**
 * Runs the migrations in every deployment that changes them or the code that runs them. API stacks depend on this
 * stack, so their functions change afterwards. When a migration fails, the deployment fails, the reason names the
 * migration's file, and no function changes.
 */
export class Migration extends Construct {
  readonly serviceFunction: ServiceFunction;

  constructor(scope: Construct, id: string, props: MigrationProps) {
    super(scope, id);
    const { packaged, prefix, log } = props;
    this.serviceFunction = new ServiceFunction(this, "Function", {
      prefix,
      packaged,
      description: "Runs the migrations during a deployment",
      resources: [ownResource(props.cluster, packaged), watchingOn(Stack.of(this), `${prefix}-${packaged.name}`)],
      timeout: longTimeout,
      // A failed migration would fail again.
      retries: 0,
      log,
    });
    const run = new CustomResource(this, "Migrations", {
      resourceType: "Custom::Migration",
      serviceToken: this.serviceFunction.lambda.functionArn,
      // CloudFormation runs the migrations again when a property changes: new code, or a restored cluster.
      properties: {
        Code: createHash("sha256").update(readFileSync(packaged.file)).digest("hex"),
        Cluster: props.cluster.arn,
        ...(props.mayBeEmpty ? { MayBeEmpty: true } : {}),
      },
      // CloudFormation's maximum, for slow migrations.
      serviceTimeout: Duration.hours(1),
    });
    run.node.addDependency(props.database);
  }
}
