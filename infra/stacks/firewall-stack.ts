import { ArnFormat, RemovalPolicy, SecretValue, Stack, type StackProps } from "aws-cdk-lib";
import { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { CfnLoggingConfiguration } from "aws-cdk-lib/aws-wafv2";
import { Construct } from "constructs";
import type { Declaration } from "../../lib/contract/declare.ts";
import { isServed } from "../api/document.ts";
import type { FirewallSettings, StageSettings } from "../settings/schema.ts";
import { makeWebAcl } from "./edge/web-acl.ts";
import { type DistributionName, webAclName, webAclsOf } from "./monitoring/cdn-metrics.ts";
import { acknowledge } from "./shared/acknowledge.ts";
import { makeLog } from "./shared/log.ts";

/** The ARNs of the web ACLs of a stage's distributions, as references that CloudFormation resolves. */
export interface EdgeFirewall {
  readonly api: string;
  readonly images: string;
}

export interface FirewallStackProps extends Pick<StackProps, "env" | "tags" | "synthesizer"> {
  /** The prefix of global names. */
  readonly prefix: string;
  /** The region of the stage's own stack. */
  readonly stageRegion: string;
  readonly settings: StageSettings;
  readonly firewall: FirewallSettings;
  readonly endpoints: readonly Declaration[];
}

/** The firewall before a stage's distributions, and the log of what it blocks. CloudFront takes it from us-east-1 only. */
export class FirewallStack extends Stack {
  readonly acls: EdgeFirewall;

  constructor(scope: Construct, id: string, props: FirewallStackProps) {
    const { prefix, stageRegion, settings, firewall, endpoints, ...stackProps } = props;
    super(scope, id, {
      ...stackProps,
      description: `Colophon: the firewall before CloudFront, of stage ${settings.name}`,
      terminationProtection: settings.isProtected,
    });
    // WAF takes only logs whose names begin like this, and their ARNs without the `:*` that CloudFormation gives.
    const { logGroupName } = makeLog(this, "Log", `aws-waf-logs-${prefix}`, settings);
    const log = this.formatArn({
      service: "logs",
      resource: "log-group",
      resourceName: logGroupName,
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
    const makeAcl = (name: string, before: DistributionName): string => {
      const construct = new Construct(this, name);
      const aclName = webAclName(prefix, before);
      const arn = makeWebAcl(construct, {
        name: aclName,
        settings: firewall,
        allowedOrigins: settings.allowedOrigins,
        endpoints: endpoints.filter((each) => isServed(each, settings)),
        scope: "CLOUDFRONT",
      });
      new CfnLoggingConfiguration(construct, "Logging", {
        resourceArn: arn,
        logDestinationConfigs: [log],
        loggingFilter: onlyBlocked,
      });
      return this.publish(construct, `/colophon/${aclName}-web-acl`, arn, stageRegion);
    };
    const [first = "edge", second] = webAclsOf(settings);
    const api = makeAcl("Acl", first);
    this.acls = { api, images: second ? makeAcl("ImagesAcl", second) : api };
  }

  /**
   * The ARN is no secret, but Secrets Manager is what copies a text to another region by itself. So a fault of us-east-1
   * does not stop a deployment of the stage.
   */
  private publish(construct: Construct, secretName: string, arn: string, region: string): string {
    const secret = new Secret(construct, "Published", {
      secretName,
      description: "The ARN of a web ACL, for the region of its stage",
      secretStringValue: SecretValue.unsafePlainText(arn),
      replicaRegions: region === this.region ? [] : [{ region }],
      removalPolicy: RemovalPolicy.DESTROY,
    });
    acknowledge(secret, { "AwsSolutions-SMG4": "It is an ARN, which nobody has to hide." });
    return SecretValue.secretsManager(secretName).unsafeUnwrap();
  }
}

/** WAF, "LoggingFilter". */
const onlyBlocked = {
  DefaultBehavior: "DROP",
  Filters: [{ Behavior: "KEEP", Requirement: "MEETS_ANY", Conditions: [{ ActionCondition: { Action: "BLOCK" } }] }],
};
