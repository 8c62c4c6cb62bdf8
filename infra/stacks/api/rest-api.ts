import {
  AccessLogFormat,
  ApiDefinition,
  EndpointType,
  LogGroupLogDestination,
  type MethodDeploymentOptions,
  MethodLoggingLevel,
  SecurityPolicy,
  SpecRestApi,
} from "aws-cdk-lib/aws-apigateway";
import { Certificate } from "aws-cdk-lib/aws-certificatemanager";
import { PolicyDocument, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import type { LogGroup } from "aws-cdk-lib/aws-logs";
import { CfnSamplingRule } from "aws-cdk-lib/aws-xray";
import { Construct } from "constructs";
import { type Declaration, methodsOf, routesOf } from "../../../lib/contract/declare.ts";
import type { StageSettings, Throttle } from "../../stages.ts";
import { acknowledge } from "../shared/acknowledge.ts";
import { makeLog } from "../shared/log.ts";
import { type DefinitionProps, definitionOf } from "./definition.ts";

export type RestApiProps = Omit<DefinitionProps, "invoker">;

/** One line of JSON a request, all of it text. `requestId` is what the functions log, too. */
const accessLine = {
  requestId: "$context.requestId",
  time: "$context.requestTimeEpoch",
  ip: "$context.identity.sourceIp",
  method: "$context.httpMethod",
  path: "$context.path",
  route: "$context.resourcePath",
  status: "$context.status",
  bytes: "$context.responseLength",
  transfer: "$context.integration.responseTransferMode",
  firstByte: "$context.integration.timeToFirstContent",
  integrationStatus: "$context.integrationStatus",
  integrationMilliseconds: "$context.integrationLatency",
  refusal: "$context.error.responseType",
  firewall: "$context.wafResponseCode",
  trace: "$context.xrayTraceId",
};

/** Filters of the log count with a number as it is; every request has this one. */
const accessFormat = JSON.stringify(accessLine).replace(/}$/, ',"milliseconds":$context.responseLatency}');

/** Enough to see where time goes. X-Ray's own rule takes the first request of each second, whatever it costs. */
const tracedShare = 0.05;

/** The first segment of URLs under API Gateway's own domain. */
const stageName = "v1";

/** The REST API: what it does is imported (definition.ts); here is how it is deployed, throttled and watched. */
export class ColophonApi extends Construct {
  readonly api: SpecRestApi;
  readonly accessLog: LogGroup;

  constructor(scope: Construct, id: string, props: RestApiProps) {
    super(scope, id);
    const { settings, prefix, endpoints, targets } = props;
    this.accessLog = makeLog(this, "AccessLog", `/colophon/${settings.name}/access`, settings);
    const definition = definitionOf({ ...props, invoker: this.makeInvoker(targets) });
    this.api = new SpecRestApi(this, "Api", {
      restApiName: prefix,
      apiDefinition: ApiDefinition.fromInline(definition),
      endpointTypes: [EndpointType.REGIONAL],
      // The account has one (account-stack.ts).
      cloudWatchRole: false,
      // The edge comes by this address.
      disableExecuteApiEndpoint: settings.domain !== undefined && settings.edge === undefined,
      deployOptions: {
        stageName,
        accessLogDestination: new LogGroupLogDestination(this.accessLog),
        accessLogFormat: AccessLogFormat.custom(accessFormat),
        // Functions do not trace by themselves (service-function.ts); here their time is part of each request's trace.
        tracingEnabled: true,
        ...methodOptions(settings.throttles.preflights),
        methodOptions: Object.fromEntries(
          endpoints.flatMap((each) => {
            const options = methodOptions(settings.throttles[kindOf(each)]);
            return routesOf(each).flatMap((path) => methodsOf(each).map((method) => [`${path}/${method}`, options]));
          }),
        ),
      },
    });
    this.keepErrorLog(settings);
    this.sampleTraces(prefix);
    this.addDomain(settings);
    acknowledge(this.api, {
      "AwsSolutions-APIG2":
        "The functions validate every parameter against the same declarations that make these routes; validation here would answer in other words than the interface.",
      ...(settings.firewall
        ? {}
        : {
            "AwsSolutions-APIG3":
              "This stage holds demonstration data, and the throttles of its methods bound what it can cost.",
          }),
    });
  }

  /**
   * The role by which API Gateway calls the functions: these and no others. A permission at each function instead would
   * cost a resource for each, of the 500 that a template may have.
   */
  private makeInvoker(targets: ReadonlyMap<string, IFunction>): string {
    const invoke = new PolicyStatement({
      actions: ["lambda:InvokeFunction"],
      resources: [...targets.values()].map(({ functionArn }) => functionArn),
    });
    return new Role(this, "Invoker", {
      assumedBy: new ServicePrincipal("apigateway.amazonaws.com"),
      inlinePolicies: { Invoke: new PolicyDocument({ statements: [invoke] }) },
    }).roleArn;
  }

  /** API Gateway writes what went wrong in itself to a log of this name, and would keep it for ever. */
  private keepErrorLog(settings: StageSettings): void {
    const name = `API-Gateway-Execution-Logs_${this.api.restApiId}/${stageName}`;
    this.api.deploymentStage.node.addDependency(makeLog(this, "ErrorLog", name, settings));
  }

  private sampleTraces(prefix: string): void {
    const everything = { host: "*", httpMethod: "*", urlPath: "*", resourceArn: "*", version: 1 };
    new CfnSamplingRule(this, "Traces", {
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
  }

  private addDomain({ domain }: StageSettings): void {
    if (!domain) return;
    this.api.addDomainName("Domain", {
      domainName: domain.name,
      certificate: Certificate.fromCertificateArn(this, "Certificate", domain.certificate),
      endpointType: EndpointType.REGIONAL,
      securityPolicy: SecurityPolicy.TLS_1_2,
    });
  }
}

function kindOf({ files, method, answers }: Declaration): Exclude<keyof StageSettings["throttles"], "preflights"> {
  if (files) return "images";
  if (method !== "GET") return "changes";
  return "list" in answers ? "lists" : "records";
}

/** What a method says of itself replaces all that the stage says. */
const methodOptions = ({ rate, burst }: Throttle): MethodDeploymentOptions => ({
  throttlingRateLimit: rate,
  throttlingBurstLimit: burst,
  loggingLevel: MethodLoggingLevel.ERROR,
  dataTraceEnabled: false,
});
