import { describe, expect, it } from "vitest";
import { settings } from "../../../infra/settings/settings.ts";
import { smokeRequests } from "../../../infra/smoke/requests.ts";
import { type Properties, type Resource, synthesis, templateText } from "./synthesis.ts";

describe.each(settings.stages.filter(({ uploads }) => uploads))("The images of stage $name", (stage) => {
  const prefix = `colophon-${stage.name}`;
  const template = synthesis.template(prefix);
  const lambda = (name: string) => template.the("Lambda::Function", "FunctionName", `${prefix}-${name}`).Properties;
  const cdn = template.find(template.Outputs.ImageDistribution?.Value);
  const distribution: Properties = cdn.Properties.DistributionConfig;
  /** The bucket that the functions write to. */
  const bucket = template.find(lambda("admin-users-update-image").Environment.Variables.IMAGE_BUCKET);

  const isKept = ({ Properties, DeletionPolicy }: Resource) => {
    expect(Properties.VersioningConfiguration).toEqual({ Status: "Enabled" });
    expect(Properties.LifecycleConfiguration.Rules).toMatchObject([
      { NoncurrentVersionExpiration: { NoncurrentDays: 30 }, ExpiredObjectDeleteMarker: true },
    ]);
    expect(DeletionPolicy).toBe(stage.isProtected ? "RetainExceptOnCreate" : "Delete");
  };

  it("lie in a bucket that keeps old versions for a while", () => isKept(bucket));

  it.runIf(stage.imageBackupRegion)("are copied to another region, and deleted there as here", () => {
    const there = synthesis.template(`${prefix}-image-backup`);
    const copies = there.find(there.Outputs.ImageBackupBucket.Value);
    const copiesArn = `arn:\${AWS::Partition}:s3:::${copies.Properties.BucketName}`;
    const { Role, Rules } = bucket.Properties.ReplicationConfiguration;
    const [{ Destination, ...rule }, ...others] = Rules;
    const [policy, ...more] = template
      .each("IAM::Policy")
      .filter(({ Roles }) => Roles[0].Ref === template.find(Role).id);

    isKept(copies);
    expect([templateText(Destination.Bucket), others, more]).toEqual([copiesArn, [], []]);
    const DeleteMarkerReplication = { Status: "Enabled" };
    expect(rule).toMatchObject({ Status: "Enabled", Filter: { Prefix: "" }, DeleteMarkerReplication });
    expect(template.find(Role).Properties.Policies).toBeUndefined();
    const statements: Properties[] = policy?.PolicyDocument.Statement;
    const rights = statements.flatMap(({ Action, Resource }) => `${Action} ${templateText(Resource)}`);
    expect(rights).toEqual([
      `s3:GetReplicationConfiguration,s3:ListBucket \${${bucket.id}.Arn}`,
      `s3:GetObjectVersionForReplication,s3:GetObjectVersionAcl,s3:GetObjectVersionTagging \${${bucket.id}.Arn}/*`,
      expect.stringMatching(/^s3:Replicate/),
    ]);
    expect(rights[2]?.split(" ")[1]).toBe(`${copiesArn}/*`);
  });

  it("are restored by copies of their own versions, and by nothing else that could be written", () => {
    const policies: Properties[] = template.find(lambda("ops-undo").Role).Properties.Policies;
    const statements: Properties[] = policies.flatMap(({ PolicyDocument }) => PolicyDocument.Statement);
    const conditionOf = (action: string) => statements.find(({ Action }) => Action === action)?.Condition;
    const { StringLike, ...others } = conditionOf("s3:PutObject");

    expect(conditionOf("s3:ListBucketVersions")).toEqual({ StringLike: { "s3:prefix": ["profiles/*", "avatars/*"] } });
    expect(others).toEqual({});
    const sources = ["profiles", "avatars"].map((each) => `\${${bucket.id}}/${each}/*`);
    expect(StringLike["s3:x-amz-copy-source"].map(templateText)).toEqual(sources);
  });

  it("are read by the CDN alone", () => {
    const statements: Properties[] = template.each("S3::BucketPolicy").find(({ Bucket }) => Bucket.Ref === bucket.id)
      ?.PolicyDocument.Statement;
    const [allowing, ...others] = statements.filter(({ Effect }) => Effect === "Allow");

    expect(others).toEqual([]);
    expect(allowing).toMatchObject({ Action: "s3:GetObject", Principal: { Service: "cloudfront.amazonaws.com" } });
    expect(templateText(allowing?.Condition.StringEquals["AWS:SourceArn"])).toContain(`distribution/\${${cdn.id}}`);
  });

  it("are served from the domain that responses name, with headers that let no browser run them", () => {
    const { SecurityHeadersConfig } = template.find(distribution.DefaultCacheBehavior.ResponseHeadersPolicyId)
      .Properties.ResponseHeadersPolicyConfig;
    const variables = template.each("Lambda::Function").map(({ Environment }) => Environment.Variables);
    const urls = variables.flatMap(({ IMAGE_BASE_URL }) => IMAGE_BASE_URL ?? []);

    expect(distribution.Aliases).toEqual([stage.imageDomain]);
    expect(distribution.ViewerCertificate.AcmCertificateArn).toBe(stage.imageCertificate);
    expect(new Set(urls)).toEqual(new Set([`https://${stage.imageDomain}`]));
    expect(SecurityHeadersConfig).toMatchObject({
      ContentTypeOptions: { Override: true },
      ContentSecurityPolicy: { ContentSecurityPolicy: "default-src 'none'; sandbox", Override: true },
    });
  });

  it("send an event to a queue when they are removed, which takes events of that rule alone", () => {
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
  });
});

it.each(settings.stages)(
  "Stage $name tidies once a day, removes images where there are uploads, and invalidates and asks by its settings",
  ({ name, database, edge, uploads, smoke, ...stage }) => {
    const template = synthesis.template(`colophon-${name}`);
    const rules = template.each("Events::Rule").filter(({ ScheduleExpression }) => ScheduleExpression);
    const runs = rules.map(({ ScheduleExpression, Targets: [{ Arn, Input }] }) => [
      // The schedule runs the released version.
      template
        .find(template.find(Arn).Properties.FunctionName)
        .Properties.FunctionName.replace(`colophon-${name}-ops-`, ""),
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
  },
);
