import { Stack } from "aws-cdk-lib";
import { Certificate } from "aws-cdk-lib/aws-certificatemanager";
import {
  Distribution,
  type DistributionProps,
  HttpVersion,
  PriceClass,
  SecurityPolicyProtocol,
} from "aws-cdk-lib/aws-cloudfront";
import type { Construct } from "constructs";
import type { StageSettings } from "../../settings/schema.ts";
import { acknowledge } from "../shared/acknowledge.ts";

export interface SiteProps extends DistributionProps {
  /** What it has of its domain. */
  readonly content: string;
  readonly domain: string;
  /** In us-east-1, where CloudFront looks for it. */
  readonly certificateArn: string;
  readonly hasAlias: boolean;
  /** The setting `priceClass`. */
  readonly locations: StageSettings["priceClass"];
  /** The ARN of the web ACL of a stage with a firewall. */
  readonly webAcl: string | undefined;
}

const priceClasses = {
  100: PriceClass.PRICE_CLASS_100,
  200: PriceClass.PRICE_CLASS_200,
  all: PriceClass.PRICE_CLASS_ALL,
};

/** A distribution of CloudFront for readers everywhere. */
export function makeDistribution(
  scope: Construct,
  { content, domain, certificateArn, hasAlias, locations, webAcl, ...props }: SiteProps,
): Distribution {
  const distribution = new Distribution(scope, "Distribution", {
    // The console shows it, and operators find the distribution by it (infra/restore.md, "A lost region"). Those of the
    // same stage in two regions differ in nothing else.
    comment: `${content} of ${domain}, ${Stack.of(scope).region}`,
    ...(hasAlias ? { domainNames: [domain] } : {}),
    certificate: Certificate.fromCertificateArn(scope, "Certificate", certificateArn),
    minimumProtocolVersion: SecurityPolicyProtocol.TLS_V1_2_2021,
    priceClass: priceClasses[locations],
    httpVersion: HttpVersion.HTTP2_AND_3,
    enableLogging: true,
    ...(webAcl ? { webAclId: webAcl } : {}),
    ...props,
  });
  acknowledge(distribution, {
    "AwsSolutions-CFR1": "The catalogue is for readers everywhere, and so is what it shows.",
    ...(webAcl ? {} : { "AwsSolutions-CFR2": "This stage has no firewall by its settings." }),
  });
  return distribution;
}
