import * as apigateway from "aws-cdk-lib/aws-apigateway";
import { Certificate } from "aws-cdk-lib/aws-certificatemanager";
import { ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { CfnSamplingRule } from "aws-cdk-lib/aws-xray";
import { Construct } from "constructs";
import { type Declaration, functionName, methodsOf, routesOf } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { apiDocument, isServed, routedEndpoints } from "../../api/document.ts";
import type { StageSettings, Throttle } from "../../settings/schema.ts";
import { acknowledge } from "../shared/acknowledge.ts";
import { makeLog } from "../shared/log.ts";
import { makeRole } from "../shared/role.ts";
import type { Stage } from "../shared/stage.ts";

/**
 * The access log has one line of JSON per request; these fields are strings. The functions log the same `requestId`, and
 * the path: API Gateway puts in what a client sends as it is, and a quotation mark in a path would break the line, which
 * metric filters then ignore.
 */
const accessLine = {
  requestId: "$context.requestId",
  time: "$context.requestTimeEpoch",
  ip: "$context.identity.sourceIp",
  method: "$context.httpMethod",
  route: "$context.resourcePath",
  status: "$context.status",
  bytes: "$context.responseLength",
  transfer: "$context.integration.responseTransferMode",
  firstByte: "$context.integration.timeToFirstContent",
  integrationStatus: "$context.integrationStatus",
  integrationMilliseconds: "$context.integrationLatency",
  errorType: "$context.error.responseType",
  firewall: "$context.wafResponseCode",
  trace: "$context.xrayTraceId",
};

/** Metric filters need a number, so `milliseconds` is not quoted; every request has a value for it. */
const accessFormat = JSON.stringify(accessLine).replace(/}$/, ',"milliseconds":$context.responseLatency}');

/** The share of requests that X-Ray records. X-Ray's default rule records the first request of each second. */
const tracedShare = 0.05;
const everything = { host: "*", httpMethod: "*", urlPath: "*", resourceArn: "*", version: 1 };

/** The first segment of URLs under API Gateway's own domain. */
export const stageName = "v1";

/**
 * The REST API. Its routes are imported (infra/api/document.ts); here are deployment, throttles, logs and traces.
 */
export function makeApi({ stack, settings, prefix, liveArnOf }: Stage) {
  const scope = new Construct(stack, "Rest");
  const { domain, edge } = settings;
  const accessLog = makeLog(scope, "AccessLog", `/colophon/${settings.name}/access`, settings);
  const served = routedEndpoints(endpoints, settings).filter((each) => isServed(each, settings));
  const document = apiDocument({
    title: prefix,
    endpoints,
    settings,
    partition: stack.partition,
    region: stack.region,
    functionArnOf: liveArnOf,
    invokerArn: makeInvoker(scope, served.map(functionName).map(liveArnOf)),
  });
  const api = new apigateway.SpecRestApi(scope, "Api", {
    restApiName: prefix,
    apiDefinition: apigateway.ApiDefinition.fromInline(document),
    endpointTypes: [apigateway.EndpointType.REGIONAL],
    // The account stack has this role (account-stack.ts).
    cloudWatchRole: false,
    // The edge uses this address.
    disableExecuteApiEndpoint: domain !== undefined && edge === undefined,
    deployOptions: {
      stageName,
      accessLogDestination: new apigateway.LogGroupLogDestination(accessLog),
      accessLogFormat: apigateway.AccessLogFormat.custom(accessFormat),
      // Functions do not trace (service-function.ts); API Gateway's trace includes their time.
      tracingEnabled: true,
      ...methodOptions(settings.throttles.preflights),
      methodOptions: Object.fromEntries(
        routedEndpoints(endpoints, settings).flatMap((each) => {
          const options = methodOptions(settings.throttles[kindOf(each)]);
          return routesOf(each).flatMap((path) => methodsOf(each).map((method) => [`${path}/${method}`, options]));
        }),
      ),
    },
  });
  // It would show the address, which only the edge uses.
  if (edge) api.node.tryRemoveChild("Endpoint");
  // API Gateway writes its own errors to a log group of this name, and would create one that is kept for ever.
  const errorLogName = `API-Gateway-Execution-Logs_${api.restApiId}/${stageName}`;
  api.deploymentStage.node.addDependency(makeLog(scope, "ErrorLog", errorLogName, settings));
  new CfnSamplingRule(scope, "Traces", {
    samplingRule: {
      ...everything,
      ruleName: prefix,
      serviceName: `${prefix}/${stageName}`,
      serviceType: "AWS::ApiGateway::Stage",
      reservoirSize: 0,
      fixedRate: tracedShare,
      priority: 100,
    },
  });
  if (domain) {
    api.addDomainName("Domain", {
      domainName: domain.name,
      certificate: Certificate.fromCertificateArn(scope, "Certificate", domain.certificate),
      endpointType: apigateway.EndpointType.REGIONAL,
      securityPolicy: apigateway.SecurityPolicy.TLS_1_2,
    });
  }
  acknowledge(api, {
    "AwsSolutions-APIG2":
      "The functions validate every parameter against the same declarations that make these routes; validation here would respond in other words than the interface.",
    ...(settings.firewall && !edge ? {} : { "AwsSolutions-APIG3": withoutFirewall(settings) }),
  });
  return { api, accessLog };
}

/**
 * The role by which API Gateway calls these functions. Without it each function would need a permission, which is one
 * more of the 500 resources that a template may have.
 */
function makeInvoker(scope: Construct, resources: string[]): string {
  const policies = { Invoke: [{ actions: ["lambda:InvokeFunction"], resources }] };
  return makeRole(scope, "Invoker", new ServicePrincipal("apigateway.amazonaws.com"), policies).roleArn;
}

const withoutFirewall = ({ edge }: StageSettings) =>
  edge
    ? "The firewall stands before CloudFront. This address returns 403 without the key that CloudFront sends."
    : "This stage holds demonstration data, and the throttles of its methods bound what it can cost.";

function kindOf({ needsFileService, needsSignIn, method, response }: Declaration) {
  if (needsFileService) return "images";
  if (needsSignIn) return "signIn";
  if (method !== "GET") return "changes";
  return "list" in response ? "lists" : "records";
}

/** The settings of a method replace all settings of the stage, so they are complete. */
const methodOptions = ({ rate, burst }: Throttle): apigateway.MethodDeploymentOptions => ({
  throttlingRateLimit: rate,
  throttlingBurstLimit: burst,
  loggingLevel: apigateway.MethodLoggingLevel.ERROR,
  dataTraceEnabled: false,
});
