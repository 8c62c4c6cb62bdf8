/** Where the services of this machine say that they are. */
export const region = "eu-central-1";
const account = "123456789012";

/** The Data API has one cluster, whatever ARN a request names. */
export const clusterArn = `arn:aws:rds:${region}:${account}:cluster:local`;
export const secretArn = (name: string) => `arn:aws:secretsmanager:${region}:${account}:secret:${name}`;
/** The secret of the user who owns the databases. */
export const masterSecretArn = secretArn("master");
