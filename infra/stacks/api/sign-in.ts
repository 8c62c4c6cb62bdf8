import { RemovalPolicy } from "aws-cdk-lib";
import { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { Construct } from "constructs";
import type { SignInSettings } from "../../settings/schema.ts";
import { acknowledge } from "../shared/acknowledge.ts";
import type { GivenResource } from "../shared/service-function.ts";

const keyLength = 64;

/**
 * How people sign in to a stage: the provider, and the key that signs their attempts (lib/sign-in). A function gets the
 * secrets that it reads, and no other.
 * @param edgeDomain that of the stage's edge, if it has one: API Gateway does not see it
 */
export function makeSignIn(scope: Construct, settings: SignInSettings, edgeDomain: string | undefined): GivenResource {
  const key = new Secret(new Construct(scope, "SignIn"), "Key", {
    description: "Signs attempts to sign in, which take ten minutes at most",
    generateSecretString: { passwordLength: keyLength, excludePunctuation: true },
    removalPolicy: RemovalPolicy.DESTROY,
  });
  acknowledge(key, {
    "AwsSolutions-SMG4":
      "The key protects attempts of ten minutes, not sessions; only functions read it, and operators replace it by one command.",
  });
  return ({ variables: read }) => {
    const { issuer, clientId, clientSecretArn, panel, sessionDays, sameSite, cookieDomain } = settings;
    // The callback alone reads the client's.
    const secrets = Object.entries({
      SIGN_IN_KEY_ARN: key.secretArn,
      SIGN_IN_CLIENT_SECRET_ARN: clientSecretArn,
    }).filter(([variable]) => read.has(variable));
    const resources = secrets.map(([, arn]) => arn);
    return {
      variables: {
        SIGN_IN_ISSUER: issuer,
        SIGN_IN_CLIENT_ID: clientId,
        SIGN_IN_PANEL: panel,
        SIGN_IN_SESSION_DAYS: `${sessionDays}`,
        SIGN_IN_SAME_SITE: sameSite,
        ...(cookieDomain ? { SIGN_IN_COOKIE_DOMAIN: cookieDomain } : {}),
        ...(edgeDomain ? { SIGN_IN_API_ADDRESS: `https://${edgeDomain}` } : {}),
        ...Object.fromEntries(secrets),
      },
      policies: resources.length > 0 ? { SignIn: [{ actions: ["secretsmanager:GetSecretValue"], resources }] } : {},
    };
  };
}
