import { type Duration, Size } from "aws-cdk-lib";
import {
  AccessLogFormat,
  EndpointType,
  LambdaIntegration,
  LogGroupLogDestination,
  type Method,
  type MethodDeploymentOptions,
  MethodLoggingLevel,
  ResponseTransferMode,
  RestApi,
  SecurityPolicy,
} from "aws-cdk-lib/aws-apigateway";
import { Certificate } from "aws-cdk-lib/aws-certificatemanager";
import { CfnPermission, type IFunction } from "aws-cdk-lib/aws-lambda";
import type { LogGroup } from "aws-cdk-lib/aws-logs";
import { CfnSamplingRule } from "aws-cdk-lib/aws-xray";
import { Construct } from "constructs";
import { byRoute, type Declaration, functionName, routesOf } from "../../lib/contract/declare.ts";
import { corsHeaders, envelopeOf, noFileServiceResponse, preflightHeaders } from "../gateway-responses.ts";
import type { StageSettings, Throttle } from "../stages.ts";
import { acknowledge } from "./acknowledge.ts";
import { makeLog } from "./log.ts";
import { mock } from "./mock.ts";
import { addRefusals } from "./refusals.ts";
import { streamTimeout } from "./service-function.ts";

export interface RestApiProps {
  readonly prefix: string;
  readonly endpoints: readonly Declaration[];
  readonly settings: StageSettings;
  /** What serves an endpoint; nothing does where it is a file service's and there is none. */
  readonly targets: ReadonlyMap<string, IFunction>;
}

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

const compressedBytesMin = 1_024;

/** The first segment of URLs under API Gateway's own domain. */
const stageName = "v1";

/** The REST API: a route for every declaration, answers to preflights, and refusals in the envelope. */
export class ColophonApi extends Construct {
  readonly api: RestApi;
  readonly accessLog: LogGroup;

  constructor(scope: Construct, id: string, props: RestApiProps) {
    super(scope, id);
    const { settings, prefix, endpoints, targets } = props;
    this.accessLog = makeLog(this, "AccessLog", `/colophon/${settings.name}/access`, settings);
    this.api = new RestApi(this, "Api", {
      restApiName: prefix,
      description: `Colophon, stage ${settings.name}`,
      endpointTypes: [EndpointType.REGIONAL],
      minCompressionSize: Size.bytes(compressedBytesMin),
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
          endpoints.flatMap((each) =>
            routesOf(each).map((path) => [`${path}/${each.method}`, methodOptions(settings.throttles[kindOf(each)])]),
          ),
        ),
      },
    });
    for (const [path, declarations] of byRoute(endpoints)) {
      this.addPreflight(path, declarations, settings);
      for (const each of declarations) this.addRoute(path, each, targets.get(functionName(each)), settings);
    }
    addRefusals(this.api);
    this.keepErrorLog(settings);
    this.sampleTraces(prefix);
    this.addDomain(settings);
    acknowledge(this.api, {
      "AwsSolutions-APIG2":
        "The functions validate every parameter against the same declarations that make these routes; validation here would answer in other words than the interface.",
      "AwsSolutions-APIG4":
        "Public endpoints are public. Administrative ones check the session and the permission inside the very statement that does the work, so that nothing can run without the check.",
      "AwsSolutions-COG4": "Sessions are opaque tokens that this service keeps itself; there is no Cognito user pool.",
      ...(settings.firewall
        ? {}
        : {
            "AwsSolutions-APIG3":
              "This stage holds demonstration data, and the throttles of its methods bound what it can cost.",
          }),
    });
  }

  private addRoute(
    path: string,
    declaration: Declaration,
    target: IFunction | undefined,
    settings: StageSettings,
  ): void {
    const resource = this.api.root.resourceForPath(path);
    if (target) {
      const method = resource.addMethod(
        declaration.method,
        integrationOf(declaration, target, streamTimeout(settings)),
      );
      if (path === declaration.path) this.permitFirst(method);
      else this.shareRight(method);
      return;
    }
    if (!declaration.files) throw new Error(`Nothing serves ${declaration.method} ${declaration.path}`);
    const { allowedOrigins } = settings;
    const { integration, options } = mock({
      status: noFileServiceResponse.status,
      body: envelopeOf(noFileServiceResponse),
      headersFor: (origin) => corsHeaders(declaration, allowedOrigins, origin),
      origins: allowedOrigins,
    });
    resource.addMethod(declaration.method, integration, options);
  }

  /**
   * By the time a deployment leads requests to a function, it may be called. The CDK names the stage in the permission,
   * which therefore came after the deployment, and requests in between failed. The wildcard stands for the parameter
   * with its slash, so that the right holds for the path that ends before it, too.
   */
  private permitFirst(method: Method): void {
    const path = method.resource.path.replace(/\/\{\w+\}$/, "*");
    for (const each of permissionsOf(method)) {
      each.sourceArn = this.api.arnForExecuteApi(method.httpMethod, path, "*");
      this.api.latestDeployment?.node.addDependency(each);
    }
  }

  /** The function may be called by its endpoint's other path already, and a template has room for 500 resources. */
  private shareRight(method: Method): void {
    for (const each of permissionsOf(method)) method.node.tryRemoveChild(each.node.id);
  }

  private addPreflight(path: string, declarations: readonly Declaration[], { allowedOrigins }: StageSettings): void {
    const { integration, options } = mock({
      status: 204,
      body: "",
      headersFor: (origin) => preflightHeaders(declarations, allowedOrigins, origin),
      origins: allowedOrigins,
    });
    this.api.root.resourceForPath(path).addMethod("OPTIONS", integration, options);
  }

  /** API Gateway writes what went wrong in itself to a log of this name, and would keep it for ever. */
  private keepErrorLog(settings: StageSettings): void {
    const name = `API-Gateway-Execution-Logs_${this.api.restApiId}/${stageName}`;
    const log = makeLog(this, "ErrorLog", name, settings);
    this.api.deploymentStage.node.addDependency(log);
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

const permissionsOf = (method: Method) => method.node.findAll().filter((it) => it instanceof CfnPermission);

/** Lists have no end, so they are streamed, and streams may take as long as their function. */
function integrationOf({ answers }: Declaration, target: IFunction, timeout: Duration): LambdaIntegration {
  return new LambdaIntegration(target, {
    allowTestInvoke: false,
    ...("list" in answers ? { responseTransferMode: ResponseTransferMode.STREAM, timeout } : {}),
  });
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
