import { beforeAll, describe, expect, it } from "vitest";
import { smokeRequests } from "../../../../infra/smoke/requests.ts";
import { settings } from "../../../../infra/stages.ts";
import { type Properties, type Template, templateText, useSynthesis } from "../synthesis.ts";

const synthesis = useSynthesis();

function cdnOf(template: Template, domain: string) {
  const found = template.all("CloudFront::Distribution").find(({ Properties }) => {
    return Properties.DistributionConfig.Aliases.includes(domain);
  });
  return found ?? expect.fail(`Nothing serves ${domain}`);
}

describe.each(settings.stages.filter(({ uploads }) => uploads))("The images of stage $name", (stage) => {
  let template: Template;
  let distribution: Properties;

  beforeAll(() => {
    template = synthesis.template(`colophon-${stage.name}`);
    distribution = cdnOf(template, stage.imageDomain).Properties.DistributionConfig;
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

  it.runIf(stage.imageBackupRegion)("are copied to another region, and deleted there as here", () => {
    const copies = synthesis.template(`colophon-${stage.name}-image-backup`);
    const [kept] = copies.all("S3::Bucket").filter(({ Properties }) => Properties.VersioningConfiguration);
    const there = `arn:\${AWS::Partition}:s3:::${kept?.Properties.BucketName}`;
    const { Role, Rules } = bucket().Properties.ReplicationConfiguration;

    expect(Rules).toEqual([
      {
        Id: "everything",
        Status: "Enabled",
        Priority: 1,
        Filter: { Prefix: "" },
        DeleteMarkerReplication: { Status: "Enabled" },
        Destination: { Bucket: expect.anything() },
      },
    ]);
    expect(templateText(Rules[0].Destination.Bucket)).toBe(there);
    const role = template.find(Role);
    const policies = template.all("IAM::Policy").filter(({ Properties }) => Properties.Roles[0].Ref === role.id);
    const rights = policies.flatMap(({ Properties }) => Properties.PolicyDocument.Statement as Properties[]);
    const ofBucket = `\${${bucket().id}.Arn}`;
    expect(role.Properties.Policies).toBeUndefined();
    expect(rights.map(({ Action, Resource }) => [Action, templateText(Resource)])).toEqual([
      [["s3:GetReplicationConfiguration", "s3:ListBucket"], ofBucket],
      ["s3:GetObjectVersionForReplication", `${ofBucket}/*`],
      [["s3:ReplicateObject", "s3:ReplicateDelete"], `${there}/*`],
    ]);
    expect(copies.find(copies.Outputs.ImageBackupBucket.Value)).toBe(kept);
    expect(kept?.Properties.LifecycleConfiguration).toEqual(bucket().Properties.LifecycleConfiguration);
    expect(kept?.Properties.VersioningConfiguration).toEqual({ Status: "Enabled" });
    expect(kept?.DeletionPolicy).toBe(stage.isProtected ? "RetainExceptOnCreate" : "Delete");
  });

  it("are restored by copies of their own versions, and by nothing else that could be written", () => {
    const lambda = template.all("Lambda::Function").find(({ Properties }) => {
      return Properties.FunctionName.endsWith("-ops-undo");
    });
    const policies: Properties[] = template.find(lambda?.Properties.Role).Properties.Policies;
    const statements: Properties[] = policies.flatMap(({ PolicyDocument }) => PolicyDocument.Statement);
    const conditionOf = (action: string) => statements.find(({ Action }) => Action === action)?.Condition;

    expect(conditionOf("s3:ListBucketVersions")).toEqual({ StringLike: { "s3:prefix": ["profiles/*", "avatars/*"] } });
    const { StringLike, ...others } = conditionOf("s3:PutObject");
    expect(others).toEqual({});
    expect(StringLike["s3:x-amz-copy-source"].map(templateText)).toEqual(
      ["profiles", "avatars"].map((each) => `\${${bucket().id}}/${each}/*`),
    );
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
    expect(templateText(allowing?.Condition.StringEquals["AWS:SourceArn"])).toContain(
      cdnOf(template, stage.imageDomain).id,
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
    const policy = template.find(distribution.DefaultCacheBehavior.ResponseHeadersPolicyId);

    expect(policy.Properties.ResponseHeadersPolicyConfig.SecurityHeadersConfig).toMatchObject({
      ContentTypeOptions: { Override: true },
      ContentSecurityPolicy: { ContentSecurityPolicy: "default-src 'none'; sandbox", Override: true },
    });
  });
});

describe.each(settings.stages)("What is scheduled on stage $name", (stage) => {
  const scheduled = () => {
    const template = synthesis.template(`colophon-${stage.name}`);
    const rules = template.all("Events::Rule").filter(({ Properties }) => Properties.ScheduleExpression);
    return rules.map((rule) => {
      const [target] = rule.Properties.Targets;
      return { template, rule, target, lambda: template.find(target.Arn) };
    });
  };

  it("is to tidy once a day, to remove images where there are uploads, and to invalidate and to ask where the stage says so", () => {
    const runs = scheduled().map(({ rule, target, lambda }) => [
      lambda.Properties.FunctionName,
      rule.Properties.ScheduleExpression,
      JSON.parse(target.Input),
    ]);

    const { everyMinutes } = stage.smoke ?? {};
    const { knownContributor } = settings.databases.find(({ name }) => name === stage.database) ?? {};
    const questions = { requests: smokeRequests("public", knownContributor) };
    expect(runs.sort()).toEqual([
      ...(stage.edge ? [[`colophon-${stage.name}-ops-invalidate`, "rate(1 minute)", {}]] : []),
      ...(stage.uploads ? [[`colophon-${stage.name}-ops-remove-images`, "rate(6 hours)", {}]] : []),
      ...(stage.smoke ? [[`colophon-${stage.name}-ops-smoke`, `rate(${everyMinutes} minutes)`, questions]] : []),
      [`colophon-${stage.name}-ops-tidy`, "rate(1 day)", { days: stage.changesRetentionDays }],
    ]);
  });
});
