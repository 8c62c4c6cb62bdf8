import { json } from "node:stream/consumers";
import type { Api } from "./aws-apis.ts";

export interface FakeDeployment {
  readonly applicationName: string;
  status: string;
  /** Its revision, whose content is registered apart from it, as CloudFormation's are. */
  readonly appSpec: string;
}

/** CodeDeploy on this machine, as an HTTP handler for the real SDK. */
export interface CodeDeploy {
  /** By their ids. */
  readonly deployments: Map<string, FakeDeployment>;
  /** What hooks have reported, and which deployments were stopped: `Succeeded d-1`, `Stopped d-2`. */
  readonly reports: string[];
  readonly answer: Api;
}

/** What CloudFormation tells CodeDeploy of a function. */
export const appSpecOf = (name: string, CurrentVersion: string, TargetVersion: string): string =>
  JSON.stringify({
    version: 0,
    Resources: [
      {
        [name]: {
          Type: "AWS::Lambda::Function",
          Properties: { Name: name, Alias: "live", CurrentVersion, TargetVersion },
        },
      },
    ],
    Hooks: [{ BeforeAllowTraffic: "colophon-prod-ops-verify-release" }],
  });

type Input = Readonly<Record<string, string>> & { readonly deploymentIds?: string[] };

export function makeCodeDeploy(): CodeDeploy {
  const deployments = new Map<string, FakeDeployment>();
  const reports: string[] = [];
  const reported = new Set<string>();

  const operations: Readonly<Record<string, (input: Input, found: FakeDeployment | undefined) => object>> = {
    GetDeployment: ({ deploymentId }, found) =>
      found
        ? {
            deploymentInfo: {
              deploymentId,
              applicationName: found.applicationName,
              revision: { revisionType: "AppSpecContent", appSpecContent: { sha256: found.appSpec } },
            },
          }
        : fault("DeploymentDoesNotExistException"),
    GetApplicationRevision: ({ revision }) => ({
      revision: {
        revisionType: "String",
        string: { content: (revision as unknown as { appSpecContent: { sha256: string } }).appSpecContent.sha256 },
      },
    }),
    PutLifecycleEventHookExecutionStatus: ({ deploymentId = "", status, lifecycleEventHookExecutionId = "" }) => {
      if (reported.has(lifecycleEventHookExecutionId)) return fault("LifecycleEventAlreadyCompletedException");
      reported.add(lifecycleEventHookExecutionId);
      reports.push(`${status} ${deploymentId}`);
      return { lifecycleEventHookExecutionId };
    },
    ListDeployments: () => ({
      deployments: [...deployments].flatMap(([id, { status }]) => (status === "InProgress" ? [id] : [])),
    }),
    BatchGetDeployments: ({ deploymentIds = [] }) => ({
      deploymentsInfo: deploymentIds.map((deploymentId) => ({ deploymentId, ...deployments.get(deploymentId) })),
    }),
    StopDeployment: ({ deploymentId }, found) => {
      if (found?.status !== "InProgress") return fault("DeploymentAlreadyCompletedException");
      found.status = "Stopped";
      reports.push(`Stopped ${deploymentId}`);
      return { status: "Pending" };
    },
  };

  return {
    deployments,
    reports,
    async answer(request, response) {
      const [, operation = ""] = `${request.headers["x-amz-target"]}`.split("CodeDeploy_20141006.");
      const answer = operations[operation];
      if (!answer) return false;
      const input = (await json(request)) as Input;
      const body = answer(input, deployments.get(input.deploymentId ?? ""));
      response.writeHead("__type" in body ? 400 : 200, { "Content-Type": "application/x-amz-json-1.1" });
      response.end(JSON.stringify(body));
      return true;
    },
  };
}

const fault = (type: string) => ({ __type: type, message: `${type} by the test` });
