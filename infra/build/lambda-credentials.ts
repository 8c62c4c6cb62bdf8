/**
 * Stands in for @aws-sdk/credential-provider-node in the bundles: Lambda gives a function its credentials in the
 * environment, so the providers for other machines (profiles, single sign-on, instance metadata) would only make each
 * bundle 90 kB larger.
 */
export { fromEnv as defaultProvider } from "@aws-sdk/credential-provider-env";
