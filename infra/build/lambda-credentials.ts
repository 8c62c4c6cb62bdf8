/**
 * Stands in for @aws-sdk/credential-provider-node in the bundles: Lambda gives a function its credentials in the
 * environment, so the providers for laptops (profiles, single sign-on, instance metadata) would only be dead weight,
 * 90 kB of it in every cold start.
 */
export { fromEnv as defaultProvider } from "@aws-sdk/credential-provider-env";
