import { awsApi } from "./api.ts";

const lambda = awsApi("lambda", process.env.AWS_ENDPOINT_URL_LAMBDA);

/** Opens a connection to Lambda, to have it when a function is to be invoked. It never fails. */
export const connectToLambda = (): void => lambda.connect();

/** Hands an event to a function, whose name may have a qualifier: `name:live`. Lambda invokes it later, and keeps its result to itself. */
export async function invokeLater(name: string, event: object): Promise<void> {
  const headers = { "content-type": "application/json", "x-amz-invocation-type": "Event" };
  await lambda.post(`/2015-03-31/functions/${encodeURIComponent(name)}/invocations`, headers, event);
}
