import { Stack } from "aws-cdk-lib";
import { Policy, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { CfnBucket, type IBucket } from "aws-cdk-lib/aws-s3";
import { acknowledge, wildcardFinding } from "../shared/acknowledge.ts";

/**
 * Lets S3 copy every image to a bucket in another region, and delete there what is deleted here; both buckets keep
 * deleted images for a while. Permanent deletions of versions are not replicated.
 *
 * @param copies the ARN of the other bucket
 */
export function replicate(bucket: IBucket, copies: string): void {
  const resource = bucket.node.defaultChild;
  if (!(resource instanceof CfnBucket)) throw new Error("The bucket of images is none of this stack");
  const role = new Role(bucket, "Replication", {
    description: "S3 copies images to another region",
    assumedBy: new ServicePrincipal("s3.amazonaws.com"),
  });
  resource.replicationConfiguration = {
    role: role.roleArn,
    rules: [
      {
        id: "everything",
        status: "Enabled",
        priority: 1,
        filter: { prefix: "" },
        deleteMarkerReplication: { status: "Enabled" },
        destination: { bucket: copies },
      },
    ],
  };
  const allow = (resources: string, ...actions: string[]) => new PolicyStatement({ actions, resources: [resources] });
  // Apart from the role: the bucket needs the role, and this policy the bucket.
  const policy = new Policy(bucket, "CopyImages", {
    roles: [role],
    statements: [
      allow(bucket.bucketArn, "s3:GetReplicationConfiguration", "s3:ListBucket"),
      allow(bucket.arnForObjects("*"), "s3:GetObjectVersionForReplication"),
      allow(`${copies}/*`, "s3:ReplicateObject", "s3:ReplicateDelete"),
    ],
  });
  const reason = "Images have random names, and there is nothing else in these buckets.";
  const here = `<${Stack.of(bucket).getLogicalId(resource)}.Arn>`;
  acknowledge(policy, Object.fromEntries([here, copies].map((each) => [wildcardFinding(`${each}/*`), reason])));
}
