import { RemovalPolicy } from "aws-cdk-lib";
import { CfnApiKey, CfnUsagePlan, CfnUsagePlanKey, type SpecRestApi } from "aws-cdk-lib/aws-apigateway";
import { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { Construct } from "constructs";
import { doorSecretName } from "../../operate/door.ts";
import type { EdgeSettings } from "../../settings/schema.ts";
import { acknowledge } from "../shared/acknowledge.ts";
import type { Stage } from "./stage.ts";

const keyLength = 40;

/**
 * The keys without which API Gateway returns 403, so that all requests come through the edge. There are two: CloudFront
 * sends the current one, and the next one is there already. So a deployment changes the key without a gap, since
 * CloudFormation deletes the former one after CloudFront sends the next. Their usage plan limits the requests of all
 * methods together (API Gateway, "Usage plans and API keys for REST APIs").
 * @param url the API's address
 * @returns the current key, as a reference that CloudFormation resolves, and the secret that has it and the API's address
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
    const key = secret.secretValueFromJson("key").unsafeUnwrap();
    const { ref: keyId } = new CfnApiKey(scope, `Key${number}`, {
      name: `${prefix}-edge-${number}`,
      enabled: true,
      value: key,
    });
    new CfnUsagePlanKey(scope, `Use${number}`, { keyId, keyType: "API_KEY", usagePlanId: plan.ref });
    return { secret, key };
  };
  const door = makeKey(current);
  makeKey(current + 1);
  return door;
}
