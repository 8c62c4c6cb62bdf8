import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { settings } from "../../../infra/stages.ts";
import { type Properties, type Synthesis, ship, spell, synthesize, type Template } from "./synthesis.ts";

let shipment: Awaited<ReturnType<typeof ship>>;
let synthesis: Synthesis;

beforeAll(async () => {
  shipment = await ship();
  synthesis = await synthesize(shipment);
});

afterAll(() => Promise.all([shipment.remove(), synthesis.remove()]));

describe.each(settings.stages.filter(({ uploads }) => uploads))("The images of stage $name", (stage) => {
  let template: Template;
  let distribution: Properties;

  beforeAll(() => {
    template = synthesis.template(`colophon-${stage.name}`);
    distribution = template.one("CloudFront::Distribution").Properties.DistributionConfig;
  });

  /** The bucket that the functions write to. */
  const bucket = () => {
    const lambda = template.all("Lambda::Function").find(({ Properties }) => {
      return Properties.FunctionName.endsWith("-admin-users-update-image");
    });
    return template.find(lambda?.Properties.Environment.Variables.IMAGE_BUCKET);
  };

  it("lie in a private, encrypted bucket that keeps old versions for a while", () => {
    const { Properties, DeletionPolicy } = bucket();

    expect(Properties.VersioningConfiguration).toEqual({ Status: "Enabled" });
    expect(Properties.LifecycleConfiguration.Rules).toEqual([
      {
        Status: "Enabled",
        NoncurrentVersionExpiration: { NoncurrentDays: 30 },
        ExpiredObjectDeleteMarker: true,
        AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 },
      },
    ]);
    expect(Properties.LoggingConfiguration.LogFilePrefix).toBe("bucket/");
    expect(DeletionPolicy).toBe(stage.isProtected ? "RetainExceptOnCreate" : "Delete");
    for (const each of template.all("S3::Bucket")) {
      expect(each.Properties.PublicAccessBlockConfiguration).toEqual({
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      });
      expect(each.Properties.BucketEncryption.ServerSideEncryptionConfiguration).toHaveLength(1);
    }
  });

  it("travel over TLS only, and are read by the CDN alone", () => {
    const policy = template.all("S3::BucketPolicy").find(({ Properties }) => Properties.Bucket.Ref === bucket().id);
    const statements: Properties[] = policy?.Properties.PolicyDocument.Statement;
    const [allowing, ...others] = statements.filter(({ Effect }) => Effect === "Allow");

    expect(statements).toContainEqual(
      expect.objectContaining({ Effect: "Deny", Condition: { Bool: { "aws:SecureTransport": "false" } } }),
    );
    expect(others).toEqual([]);
    expect(allowing).toMatchObject({
      Action: "s3:GetObject",
      Principal: { Service: "cloudfront.amazonaws.com" },
      Condition: { StringEquals: { "AWS:SourceArn": expect.anything() } },
    });
    expect(spell(allowing?.Condition.StringEquals["AWS:SourceArn"])).toContain(
      template.one("CloudFront::Distribution").id,
    );
    const { Origins, DefaultCacheBehavior } = distribution;
    expect(template.find(Origins[0].OriginAccessControlId["Fn::GetAtt"] && Origins[0].OriginAccessControlId).Type).toBe(
      "AWS::CloudFront::OriginAccessControl",
    );
    expect(DefaultCacheBehavior.ViewerProtocolPolicy).toBe("https-only");
  });

  it("are served from the domain that answers name", () => {
    expect(distribution.Aliases).toEqual([stage.imageDomain]);
    expect(distribution.ViewerCertificate.AcmCertificateArn).toBe(stage.imageCertificate);
    const named = template.all("Lambda::Function").flatMap(({ Properties }) => {
      return Properties.Environment.Variables.IMAGE_BASE_URL ?? [];
    });
    expect(new Set(named)).toEqual(new Set([`https://${stage.imageDomain}`]));
  });

  it("come with headers that let no browser run them", () => {
    const { ResponseHeadersPolicyConfig } = template.one("CloudFront::ResponseHeadersPolicy").Properties;

    expect(ResponseHeadersPolicyConfig.SecurityHeadersConfig).toMatchObject({
      ContentTypeOptions: { Override: true },
      ContentSecurityPolicy: { ContentSecurityPolicy: "default-src 'none'; sandbox", Override: true },
    });
    expect(template.find(distribution.DefaultCacheBehavior.ResponseHeadersPolicyId).Type).toBe(
      "AWS::CloudFront::ResponseHeadersPolicy",
    );
  });

  it("are removed on a schedule, which may call its function alone", () => {
    const rule = template.one("Events::Rule");
    const lambda = template.find(rule.Properties.Targets[0].Arn);
    const [allowed, ...others] = template.all("Lambda::Permission").filter(({ Properties }) => {
      return Properties.Principal === "events.amazonaws.com";
    });

    expect(rule.Properties).toMatchObject({ ScheduleExpression: "rate(6 hours)", State: "ENABLED" });
    expect(lambda.Properties).toMatchObject({ FunctionName: `colophon-${stage.name}-ops-remove-images`, Timeout: 900 });
    expect(others).toEqual([]);
    expect(template.find(allowed?.Properties.FunctionName).id).toBe(lambda.id);
    expect(template.find(allowed?.Properties.SourceArn).id).toBe(rule.id);
  });
});
