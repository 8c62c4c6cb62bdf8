import { CfnOutput } from "aws-cdk-lib";
import { Construct } from "constructs";
import { reference } from "../../reference/page.ts";
import { ServedBucket, type ServedBucketProps } from "../shared/served-bucket.ts";

export interface ReferenceSiteProps
  extends Pick<ServedBucketProps, "domain" | "certificateArn" | "logRetentionDays" | "isProtected"> {
  /** The origin of the API that receives the page's requests. */
  readonly api: string;
}

/** The reference of the interface as a static site; operators copy its files (infra/README.md, "Reference"). */
export class ReferenceSite extends Construct {
  constructor(scope: Construct, id: string, { api, ...props }: ReferenceSiteProps) {
    super(scope, id);
    const { bucket, distribution } = new ServedBucket(this, "Served", {
      ...props,
      content: "Reference",
      contentSecurityPolicy: reference({ base: "", tokens: [], api }).policy,
      isForEverySite: false,
      rootObject: "index.html",
    });
    new CfnOutput(this, "Bucket", { value: bucket.bucketName }).overrideLogicalId("ReferenceBucket");
    new CfnOutput(this, "DomainTarget", { value: distribution.domainName }).overrideLogicalId("ReferenceDomainTarget");
  }
}
