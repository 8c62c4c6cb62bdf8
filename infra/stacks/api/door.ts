import { RemovalPolicy } from "aws-cdk-lib";
import { CfnApiKey, CfnUsagePlan, CfnUsagePlanKey, type SpecRestApi } from "aws-cdk-lib/aws-apigateway";
import { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { Construct } from "constructs";
import { doorSecretName } from "../../operate/door.ts";
import type { EdgeSettings } from "../../settings/schema.ts";
import { acknowledge } from "../shared/acknowledge.ts";
import type { Stage } from "../shared/stage.ts";

const keyLength = 40;

/**
 * The keys without which API Gateway returns 403, so that all requests come through the edge: one for public reads, and
 * one for all else. Their usage plan limits the requests of all methods together, for each key by itself (API Gateway,
 * "Usage plans and API keys for REST APIs"): visitors cannot use up what the panel has.
 *
 * CloudFront sends the current keys, and the next ones are there already. So a deployment changes them without a gap,
 * since CloudFormation deletes the old ones after CloudFront sends the next.
 * @param url the API's address
 * @returns the current keys, as references that CloudFormation resolves, and the secret that has the visitors' one and the
 *   API's address
 */
export function makeDoor(
  { stack, settings, prefix }: Stage,
  { key: current, throttle }: EdgeSettings,
  api: SpecRestApi,
  url: string,
) {
  const scope = new Construct(stack, "Door");
  const plan = new CfnUsagePlan(scope, "Plan", {
    usagePlanName: prefix,
    apiStages: [{ apiId: api.restApiId, stage: api.deploymentStage.stageName }],
    throttle: { rateLimit: throttle.rate, burstLimit: throttle.burst },
  });
  const makeKey = (number: number) => {
    const secret = new Secret(scope, `Secret${number}`, {
      secretName: doorSecretName(settings.name, number),
      description: "The key that CloudFront sends to the API, and the address of the API",
      generateSecretString: {
        secretStringTemplate: stack.toJsonString({ url }),
        generateStringKey: "key",
        passwordLength: keyLength,
        excludePunctuation: true,
      },
      removalPolicy: RemovalPolicy.DESTROY,
    });
    acknowledge(secret, {
      "AwsSolutions-SMG4": "A deployment replaces it (infra/edge.md): CloudFront takes no key that rotates by itself.",
    });
    const visitors = secret.secretValueFromJson("key").unsafeUnwrap();
    const keys = { visitors, panel: `${visitors}-panel` };
    for (const [whose, value] of Object.entries(keys)) {
      const name = `${prefix}-${whose}-${number}`;
      const { ref: keyId } = new CfnApiKey(scope, `Key-${whose}-${number}`, { name, enabled: true, value });
      new CfnUsagePlanKey(scope, `Use-${whose}-${number}`, { keyId, keyType: "API_KEY", usagePlanId: plan.ref });
    }
    return { secret, keys };
  };
  const door = makeKey(current);
  makeKey(current + 1);
  return door;
}
