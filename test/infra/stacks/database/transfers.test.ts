import { beforeAll, describe, expect, it } from "vitest";
import { transferBucketOf } from "../../../../infra/settings/transfer-bucket.ts";
import { settings } from "../../../../infra/stages.ts";
import { type Properties, type Resource, type Template, templateText, useSynthesis } from "../synthesis.ts";

const synthesis = useSynthesis();

describe.each(settings.databases)("The bucket for transfers of the database $name", (database) => {
  const bucketName = transferBucketOf(database, settings.account);
  let template: Template;
  let bucket: Resource;

  beforeAll(() => {
    template = synthesis.template(`colophon-${database.name}-database`);
    const found = template.all("S3::Bucket").find(({ Properties }) => Properties.BucketName === bucketName);
    bucket = found ?? expect.fail(`There is no bucket ${bucketName}`);
  });

  const statements = (): readonly Properties[] =>
    template.all("S3::BucketPolicy").find(({ Properties }) => Properties.Bucket.Ref === bucket.id)?.Properties
      .PolicyDocument.Statement;

  it("is private and encrypted, and forgets files after 30 days, and unfinished uploads after one", () => {
    expect(bucket.Properties).toMatchObject({
      PublicAccessBlockConfiguration: {
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      },
      BucketEncryption: {
        ServerSideEncryptionConfiguration: [{ ServerSideEncryptionByDefault: { SSEAlgorithm: "AES256" } }],
      },
      LifecycleConfiguration: {
        Rules: [
          { Status: "Enabled", ExpirationInDays: 30, AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 } },
        ],
      },
    });
    expect(bucket.Properties).not.toHaveProperty("VersioningConfiguration");
    expect(bucket.DeletionPolicy).toBe("Delete");
  });

  it("refuses whoever comes without TLS, and allows nobody anything", () => {
    const policies = statements();

    expect(policies.map(({ Effect, Action, Principal }) => ({ Effect, Action, Principal }))).toEqual(
      policies.map(() => ({ Effect: "Deny", Action: "s3:*", Principal: { AWS: "*" } })),
    );
    expect(policies.map(({ Condition }) => Condition)).toEqual([
      { Bool: { "aws:SecureTransport": "false" } },
      { NumericLessThan: { "s3:TlsVersion": 1.2 } },
    ]);
    for (const { Resource } of policies)
      expect(Resource.map(templateText)).toEqual([`\${${bucket.id}.Arn}`, `\${${bucket.id}.Arn}/*`]);
  });

  it("logs who uploads and downloads, for as long as the database's logs", () => {
    const logs = template.find(bucket.Properties.LoggingConfiguration.DestinationBucketName);

    expect(logs.Properties.LifecycleConfiguration.Rules).toEqual([
      { Status: "Enabled", ExpirationInDays: database.logRetentionDays },
    ]);
  });
});

it("The longest name of a bucket for transfers is one that S3 allows", () => {
  const name = transferBucketOf({ name: "a".repeat(16) }, { id: "123456789012", region: "ap-southeast-2" });

  expect(name).toHaveLength(63);
});
