import { beforeAll, describe, expect, it } from "vitest";
import { smokeRequests } from "../../../infra/smoke/requests.ts";
import { settings } from "../../../infra/stages.ts";
import { type Properties, type Resource, type Template, templateText, useSynthesis } from "./synthesis.ts";

const synthesis = useSynthesis();

describe.each(settings.stages.filter(({ uploads }) => uploads))("The images of stage $name", (stage) => {
  const prefix = `colophon-${stage.name}`;
  let template: Template;
  let cdn: Resource;
  let distribution: Properties;
  /** The bucket that the functions write to. */
  let bucket: Resource;

  const lambda = (name: string) => template.the("Lambda::Function", "FunctionName", `${prefix}-${name}`).Properties;

  beforeAll(() => {
    template = synthesis.template(prefix);
    cdn = template.find(template.Outputs.ImageDistribution.Value);
    distribution = cdn.Properties.DistributionConfig;
    bucket = template.find(lambda("admin-users-update-image").Environment.Variables.IMAGE_BUCKET);
  });

  const isKept = ({ Properties, DeletionPolicy }: Resource) => {
    expect(Properties.VersioningConfiguration).toEqual({ Status: "Enabled" });
    expect(Properties.LifecycleConfiguration.Rules).toMatchObject([
      { NoncurrentVersionExpiration: { NoncurrentDays: 30 }, ExpiredObjectDeleteMarker: true },
    ]);
    expect(DeletionPolicy).toBe(stage.isProtected ? "RetainExceptOnCreate" : "Delete");
  };

  it("lie in a private, encrypted bucket that keeps old versions for a while", () => {
    isKept(bucket);
    for (const { PublicAccessBlockConfiguration, BucketEncryption } of template.each("S3::Bucket")) {
      expect(Object.values(PublicAccessBlockConfiguration)).toEqual([true, true, true, true]);
      expect(BucketEncryption.ServerSideEncryptionConfiguration).toHaveLength(1);
    }
  });

  it.runIf(stage.imageBackupRegion)("are copied to another region, and deleted there as here", () => {
    const there = synthesis.template(`${prefix}-image-backup`);
    const copies = there.find(there.Outputs.ImageBackupBucket.Value);
    const copiesArn = `arn:\${AWS::Partition}:s3:::${copies.Properties.BucketName}`;
    const { Role, Rules } = bucket.Properties.ReplicationConfiguration;
    const [{ Destination, ...rule }, ...others] = Rules;
    const [policy, ...more] = template
      .each("IAM::Policy")
      .filter(({ Roles }) => Roles[0].Ref === template.find(Role).id);
    const ofBucket = `\${${bucket.id}.Arn}`;

    isKept(copies);
    expect([templateText(Destination.Bucket), others, more]).toEqual([copiesArn, [], []]);
    const DeleteMarkerReplication = { Status: "Enabled" };
    expect(rule).toMatchObject({ Status: "Enabled", Filter: { Prefix: "" }, DeleteMarkerReplication });
    expect(template.find(Role).Properties.Policies).toBeUndefined();
    expect(
      policy?.PolicyDocument.Statement.map(({ Action, Resource }: Properties) => [Action, templateText(Resource)]),
    ).toEqual([
      [["s3:GetReplicationConfiguration", "s3:ListBucket"], ofBucket],
      [["ForReplication", "Acl", "Tagging"].map((each) => `s3:GetObjectVersion${each}`), `${ofBucket}/*`],
      [
        ["s3:ReplicateObject", "s3:ReplicateDelete", "s3:ReplicateTags", "s3:ObjectOwnerOverrideToBucketOwner"],
        `${copiesArn}/*`,
      ],
    ]);
  });

  it("are restored by copies of their own versions, and by nothing else that could be written", () => {
    const policies: Properties[] = template.find(lambda("ops-undo").Role).Properties.Policies;
    const statements: Properties[] = policies.flatMap(({ PolicyDocument }) => PolicyDocument.Statement);
    const conditionOf = (action: string) => statements.find(({ Action }) => Action === action)?.Condition;
    const { StringLike, ...others } = conditionOf("s3:PutObject");

    expect(conditionOf("s3:ListBucketVersions")).toEqual({ StringLike: { "s3:prefix": ["profiles/*", "avatars/*"] } });
    expect(others).toEqual({});
    expect(StringLike["s3:x-amz-copy-source"].map(templateText)).toEqual(
      ["profiles", "avatars"].map((each) => `\${${bucket.id}}/${each}/*`),
    );
  });

  it("travel over TLS only, and are read by the CDN alone", () => {
    const statements: Properties[] = template.each("S3::BucketPolicy").find(({ Bucket }) => Bucket.Ref === bucket.id)
      ?.PolicyDocument.Statement;
    const [allowing, ...others] = statements.filter(({ Effect }) => Effect === "Allow");

    expect(statements.map(({ Condition }) => Condition)).toContainEqual({ Bool: { "aws:SecureTransport": "false" } });
    expect(others).toEqual([]);
    expect(allowing).toMatchObject({ Action: "s3:GetObject", Principal: { Service: "cloudfront.amazonaws.com" } });
    expect(templateText(allowing?.Condition.StringEquals["AWS:SourceArn"])).toContain(`distribution/\${${cdn.id}}`);
    expect(distribution.DefaultCacheBehavior.ViewerProtocolPolicy).toBe("https-only");
  });

  it("are served from the domain that responses name, with headers that let no browser run them", () => {
    const { SecurityHeadersConfig } = template.find(distribution.DefaultCacheBehavior.ResponseHeadersPolicyId)
      .Properties.ResponseHeadersPolicyConfig;
    const urls = template
      .each("Lambda::Function")
      .flatMap(({ Environment }) => Environment.Variables.IMAGE_BASE_URL ?? []);

    expect(distribution.Aliases).toEqual([stage.imageDomain]);
    expect(distribution.ViewerCertificate.AcmCertificateArn).toBe(stage.imageCertificate);
    expect(new Set(urls)).toEqual(new Set([`https://${stage.imageDomain}`]));
    expect(SecurityHeadersConfig).toMatchObject({
      ContentTypeOptions: { Override: true },
      ContentSecurityPolicy: { ContentSecurityPolicy: "default-src 'none'; sandbox", Override: true },
    });
  });

  it("send an event to a queue when they are removed, which takes events of that rule alone, over TLS", () => {
    const [rule, ...more] = template.all("Events::Rule").filter(({ Properties }) => Properties.EventPattern);
    const { EventPattern, Targets } = rule?.Properties ?? {};
    const queue = template.find(Targets[0].Arn);
    const policy = template.each("SQS::QueuePolicy").find(({ Queues }) => Queues[0].Ref === queue.id);
    const statements: Properties[] = policy?.PolicyDocument.Statement ?? [];
    const [allowing, ...others] = statements.filter(({ Effect }) => Effect === "Allow");

    expect(more).toEqual([]);
    // Not when old versions expire.
    expect(EventPattern.detail.reason).toEqual(["DeleteObject"]);
    expect(template.find(EventPattern.detail.bucket.name[0])).toBe(bucket);
    expect(bucket.Properties.NotificationConfiguration.EventBridgeConfiguration.EventBridgeEnabled).toBe(true);
    expect(others).toEqual([]);
    expect(allowing?.Principal).toEqual({ Service: "events.amazonaws.com" });
    expect(template.find(Object.values<Properties>(allowing?.Condition)[0]?.["aws:SourceArn"])).toBe(rule);
    expect(statements).toContainEqual(
      expect.objectContaining({ Effect: "Deny", Condition: { Bool: { "aws:SecureTransport": "false" } } }),
    );
  });
});

describe.each(settings.stages)(
  "What is scheduled on stage $name",
  ({ name, database, edge, uploads, smoke, ...stage }) => {
    it("is to tidy once a day, to remove images where there are uploads, and to invalidate and to ask by settings", () => {
      const template = synthesis.template(`colophon-${name}`);
      const rules = template.each("Events::Rule").filter(({ ScheduleExpression }) => ScheduleExpression);
      const runs = rules.map(({ ScheduleExpression, Targets: [{ Arn, Input }] }) => [
        template.find(Arn).Properties.FunctionName.replace(`colophon-${name}-ops-`, ""),
        ScheduleExpression,
        JSON.parse(Input),
      ]);

      const { knownContributor } = settings.databases.find((each) => each.name === database) ?? {};
      const requests = expect.arrayContaining([...smokeRequests("public", knownContributor)]);
      expect(runs.sort()).toEqual([
        ...(edge ? [["invalidate", "rate(1 minute)", {}]] : []),
        ...(uploads ? [["remove-images", "rate(6 hours)", {}]] : []),
        ...(smoke ? [["smoke", `rate(${smoke.everyMinutes} minutes)`, { requests }]] : []),
        ["tidy", "rate(1 day)", { days: stage.changesRetentionDays }],
      ]);
    });
  },
);
