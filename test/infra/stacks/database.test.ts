import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App } from "aws-cdk-lib";
import { Template as Assertions } from "aws-cdk-lib/assertions";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { limitedRoles } from "../../../infra/build/database-role.ts";
import type { DatabaseSettings } from "../../../infra/settings/schema.ts";
import { settingsSchema } from "../../../infra/settings/settings.ts";
import { BackupStack } from "../../../infra/stacks/backup-stack.ts";
import { settings } from "../../../infra/stages.ts";
import { type Properties, type Synthesis, synthesize, type Template, templateText, useSynthesis } from "./synthesis.ts";

const synthesis = useSynthesis();

/** The functions that operators invoke. */
const operated = [
  "ops-check-copy",
  "ops-create-user",
  "ops-end-sessions",
  "ops-export",
  "ops-import",
  "ops-issue-refresh-token",
  "ops-link-identity",
  "ops-list-changes",
  "ops-merge-contributors",
  "ops-migrate",
  "ops-rotate-password",
];

const idsOf = (template: Template, type: string) => template.all(type).map(({ id }) => id);

/** Everything that waits for a resource, directly or through others. */
function waitingFor(template: Template, id: string): Set<string> {
  const found = new Set([id]);
  for (const waiting of found) {
    for (const each of template.resources.filter(({ DependsOn }) => DependsOn?.includes(waiting))) found.add(each.id);
  }
  return found;
}

describe.each(settings.databases)("The database $name", (given: DatabaseSettings) => {
  let template: Template;

  beforeAll(() => {
    template = synthesis.template(`colophon-${given.name}-database`);
  });

  it("is Aurora PostgreSQL 18 Serverless v2 with the Data API, as large as its settings say", () => {
    const cluster = template.one("RDS::DBCluster").Properties;

    expect(cluster).toMatchObject({
      Engine: "aurora-postgresql",
      EngineVersion: expect.stringMatching(/^18\.\d+$/),
      EnableHttpEndpoint: true,
      DatabaseName: "colophon",
    });
    expect(cluster.ServerlessV2ScalingConfiguration).toEqual({
      MinCapacity: given.capacityMin,
      MaxCapacity: given.capacityMax,
      ...(given.pausesAfterMinutes ? { SecondsUntilAutoPause: 60 * given.pausesAfterMinutes } : {}),
    });
    for (const { Properties } of template.all("RDS::DBInstance")) {
      expect(Properties).toMatchObject({
        DBInstanceClass: "db.serverless",
        PubliclyAccessible: false,
        AutoMinorVersionUpgrade: false,
      });
    }
  });

  it("has a standby in another zone where its settings say so", () => {
    const [writer, ...others] = template.all("RDS::DBInstance").map(({ Properties }) => Properties);
    expect(others).toHaveLength(given.standby ? 1 : 0);
    // In tiers 0 and 1 instances grow with the writer.
    expect([writer, ...others].map((each) => each?.PromotionTier)).toEqual(given.standby ? [0, 1] : [0]);
    const zones = [writer, ...others].map((each) => JSON.stringify(each?.AvailabilityZone));
    expect(zones).toEqual(
      template
        .all("EC2::Subnet")
        .slice(0, zones.length)
        .map(({ Properties }) => JSON.stringify(Properties.AvailabilityZone)),
    );
    expect(new Set(zones).size).toBe(zones.length);
  });

  it("writes to a log that is there before it, and is not kept for ever", () => {
    const { DependsOn, Properties } = template.one("RDS::DBCluster");
    const name = `/aws/rds/cluster/${Properties.DBClusterIdentifier}/postgresql`;
    const log = template.all("Logs::LogGroup").find((each) => each.Properties.LogGroupName === name);

    expect(log?.Properties.RetentionInDays).toBe(given.logRetentionDays);
    expect(DependsOn).toContain(log?.id);
    const query = template.one("Logs::QueryDefinition").Properties;
    expect(query.Name).toBe(`colophon-${given.name}-database/slow-statements`);
    expect(query.LogGroupNames).toEqual([name]);
  });

  it("mails failovers and failures to whom its alarms go", () => {
    const events = template.one("RDS::EventSubscription").Properties;

    expect(events).toMatchObject({ SourceType: "db-cluster", EventCategories: ["failover", "failure", "maintenance"] });
    expect(templateText(events.SnsTopicArn)).toBe(templateText({ Ref: template.one("SNS::Topic").id }));
    const publishers = template
      .one("SNS::TopicPolicy")
      .Properties.PolicyDocument.Statement.flatMap(({ Effect, Principal }: Properties) =>
        Effect === "Allow" ? [Principal.Service] : [],
      );
    expect(publishers).toContain("events.rds.amazonaws.com");
  });

  it("is copied to another region each night where its settings say so", () => {
    const plans = template.all("Backup::BackupPlan");
    expect(plans).toHaveLength(given.backupRegion ? 1 : 0);
    if (!given.backupRegion) return;

    const there = synthesis.template(`colophon-${given.name}-backup`);
    const vault = there.one("Backup::BackupVault").Properties;
    const [rule, ...others] = plans[0]?.Properties.BackupPlan.BackupPlanRule ?? [];
    expect(others).toEqual([]);
    expect(rule.ScheduleExpression).toBe("cron(0 2 * * ? *)");
    expect(rule.CopyActions.map(({ DestinationBackupVaultArn: arn }: Properties) => templateText(arn))).toEqual([
      `arn:\${AWS::Partition}:backup:${given.backupRegion}:123456789012:backup-vault:${vault.BackupVaultName}`,
    ]);
    expect(rule.CopyActions[0].Lifecycle).toEqual({ DeleteAfterDays: given.backupRetentionDays });
    const { Resources } = template.one("Backup::BackupSelection").Properties.BackupSelection;
    expect(Resources.map(templateText)).toEqual([
      `arn:\${AWS::Partition}:rds:eu-central-1:123456789012:cluster:\${${template.one("RDS::DBCluster").id}}`,
    ]);
    expect(there.find(vault.EncryptionKeyArn)).toMatchObject({
      Type: "AWS::KMS::Key",
      DeletionPolicy: "RetainExceptOnCreate",
    });
  });

  it.runIf(given.backupRegion)("mails backups and copies that fail, with the reason, to whom its alarms go", () => {
    const vault = `colophon-${given.name}-eu-central-1-database`;
    const rules = template.all("Events::Rule").map(({ Properties }) => Properties);
    const states = ["FAILED", "ABORTED", "EXPIRED", "PARTIAL"];
    const there = `arn:\${AWS::Partition}:backup:${given.backupRegion}:123456789012:backup-vault:${vault}`;

    const patternOf = (type: string) => rules.find(({ EventPattern }) => EventPattern?.["detail-type"]?.[0] === type);
    const backups = patternOf("Backup Job State Change");
    const copies = patternOf("Copy Job State Change");
    expect(backups?.EventPattern).toMatchObject({ source: ["aws.backup"], detail: { state: states } });
    expect(template.find(backups?.EventPattern.detail.backupVaultName[0])).toBe(template.one("Backup::BackupVault"));
    expect(copies?.EventPattern).toMatchObject({ source: ["aws.backup"], detail: { state: states } });
    expect(copies?.EventPattern.detail.destinationBackupVaultArn.map(templateText)).toEqual([there]);
    for (const rule of [backups, copies]) {
      expect(rule?.State).toBe("ENABLED");
      const [target, ...others] = rule?.Targets ?? [];
      expect(others).toEqual([]);
      expect(templateText(target.Arn)).toBe(templateText({ Ref: template.one("SNS::Topic").id }));
      expect(Object.values(target.InputTransformer.InputPathsMap)).toContain("$.detail.statusMessage");
    }
    // Nothing but the topic's policy lets EventBridge publish, and only for this account.
    const publishing = template
      .all("SNS::TopicPolicy")
      .flatMap(({ Properties }) => Properties.PolicyDocument.Statement)
      .filter(({ Principal }: Properties) => Principal?.Service === "events.amazonaws.com");
    expect(publishing).toMatchObject([
      { Effect: "Allow", Condition: { StringEquals: { "aws:SourceAccount": settings.account.id } } },
    ]);
    expect(template.one("Backup::BackupVault").Properties).not.toHaveProperty("Notifications");
  });

  it.runIf(given.drill)(
    "is restored from its copies each month, in their region, and a mail tells how that went",
    () => {
      const there = synthesis.template(`colophon-${given.name}-backup`);
      const plan = there.one("Backup::RestoreTestingPlan");
      const { RecoveryPointSelection, ScheduleExpression } = plan.Properties;
      const selection = there.one("Backup::RestoreTestingSelection").Properties;
      const rule = there.one("Events::Rule").Properties;

      expect(ScheduleExpression).toBe(`cron(0 ${given.drill?.hour} ${given.drill?.day} * ? *)`);
      expect(RecoveryPointSelection).toMatchObject({ Algorithm: "LATEST_WITHIN_WINDOW", SelectionWindowDays: 2 });
      expect(there.find(RecoveryPointSelection.IncludeVaults[0])).toBe(there.one("Backup::BackupVault"));
      expect(selection).toMatchObject({ ProtectedResourceType: "Aurora", ProtectedResourceArns: ["*"] });
      expect(there.find(selection.RestoreMetadataOverrides.dbSubnetGroupName)).toBe(there.one("RDS::DBSubnetGroup"));
      expect(rule.EventPattern.detail.status).toEqual(["COMPLETED", "FAILED", "ABORTED"]);
      expect(there.find(rule.EventPattern.detail.restoreTestingPlanArn[0])).toBe(plan);
      expect(there.find(rule.Targets[0].Arn)).toBe(there.one("SNS::Topic"));
      expect(there.one("SNS::Subscription").Properties.Endpoint).toBe(given.alarmRecipient);
    },
  );

  it("has its operators' invocations in CloudTrail where its settings say so, and nothing else", () => {
    const trails = template.all("CloudTrail::Trail");
    expect(trails).toHaveLength(given.trailRetentionDays ? 1 : 0);
    if (!given.trailRetentionDays) return;

    const [trail] = trails;
    expect(trail?.Properties).toMatchObject({ EnableLogFileValidation: true, IsLogging: true });
    const [selector, ...others] = trail?.Properties.EventSelectors ?? [];
    expect(others).toEqual([]);
    expect(selector.IncludeManagementEvents).toBe(false);
    expect(selector.DataResources.map(({ Type }: Properties) => Type)).toEqual(["AWS::Lambda::Function"]);
    const recorded = selector.DataResources[0].Values.map(
      (each: unknown) => template.find(each).Properties.FunctionName,
    );
    expect(recorded.sort()).toEqual(operated.map((name) => `colophon-${given.name}-${name}`));
    const { Rules } = template.find(trail?.Properties.S3BucketName).Properties.LifecycleConfiguration;
    expect(Rules).toEqual([
      {
        ExpirationInDays: given.trailRetentionDays,
        NoncurrentVersionExpiration: { NoncurrentDays: 30 },
        Status: "Enabled",
      },
    ]);
  });

  it("has a secret for each role that functions log in as, as the Data API wants it", () => {
    const secrets = template.all("SecretsManager::Secret").map(({ Properties }) => Properties.GenerateSecretString);

    expect(secrets).toEqual(
      limitedRoles.map((role) => ({
        SecretStringTemplate: JSON.stringify({ username: `colophon_${role}` }),
        GenerateStringKey: "password",
        PasswordLength: 40,
        ExcludePunctuation: true,
      })),
    );
  });

  it("has new passwords for them every 30 days, from a function that Secrets Manager may call", () => {
    const [rotation] = template.all("Lambda::Function").filter(({ Properties }) => {
      return Properties.FunctionName === `colophon-${given.name}-ops-rotate-password`;
    });
    const schedules = template.all("SecretsManager::RotationSchedule").map(({ Properties }) => Properties);

    expect(schedules.map(({ SecretId }) => template.find(SecretId).Type)).toEqual(
      Array(limitedRoles.length).fill("AWS::SecretsManager::Secret"),
    );
    expect(new Set(schedules.map(({ SecretId }) => SecretId.Ref)).size).toBe(limitedRoles.length);
    for (const schedule of schedules) {
      expect(schedule).toMatchObject({
        RotationRules: { AutomaticallyAfterDays: 30 },
        RotateImmediatelyOnUpdate: false,
      });
      expect(template.find(schedule.RotationLambdaARN)).toBe(rotation);
    }
    const [permission] = template.all("Lambda::Permission");
    expect(permission?.Properties).toMatchObject({
      Principal: "secretsmanager.amazonaws.com",
      SourceAccount: settings.account.id,
    });
  });

  it("is encrypted by a key of its own, backed up, and its master's password rotated by RDS", () => {
    const { Properties } = template.one("RDS::DBCluster");

    expect(Properties).toMatchObject({
      StorageEncrypted: true,
      BackupRetentionPeriod: given.backupRetentionDays,
      ManageMasterUserPassword: true,
    });
    expect(Properties).not.toHaveProperty("MasterUserPassword");
    expect(template.find(Properties.KmsKeyId)).toMatchObject({
      Type: "AWS::KMS::Key",
      Properties: { EnableKeyRotation: true },
    });
  });

  it("is protected where its settings say so, with the key of its snapshots, and answers on when it is restored", () => {
    const { Properties, DeletionPolicy } = template.one("RDS::DBCluster");
    const policies = [DeletionPolicy, template.find(Properties.KmsKeyId).DeletionPolicy];

    expect(Properties.DeletionProtection).toBe(given.isProtected);
    expect(policies).toEqual(given.isProtected ? ["Snapshot", "RetainExceptOnCreate"] : ["Delete", "Delete"]);
    for (const each of template.all("RDS::DBInstance"))
      expect(each.UpdateReplacePolicy).toBe(given.isProtected ? "Retain" : "Delete");
  });

  it("is in a network without routes out", () => {
    const ways = ["EC2::InternetGateway", "EC2::NatGateway", "EC2::Route", "EC2::EIP", "EC2::VPCEndpoint"];
    for (const type of ways) expect(template.all(type)).toEqual([]);
    expect(template.all("EC2::Subnet").map(({ Properties }) => Properties.MapPublicIpOnLaunch)).toEqual([false, false]);
    const { SecurityGroupIngress, SecurityGroupEgress } = template.one("EC2::SecurityGroup").Properties;
    expect(SecurityGroupIngress).toBeUndefined();
    // EC2 adds a rule that allows everything unless there is one; this one allows a kind of ping to no address.
    expect(SecurityGroupEgress).toMatchObject([{ CidrIp: "255.255.255.255/32", IpProtocol: "icmp" }]);
    expect(template.all("EC2::SecurityGroupIngress")).toEqual([]);
  });

  it("is migrated once its writer runs, and again when the migrations or the cluster change", () => {
    const [run] = template.resources.filter(({ Type }) => Type === "Custom::Migration");

    expect(run?.DependsOn).toEqual(
      expect.arrayContaining([...idsOf(template, "RDS::DBCluster"), ...idsOf(template, "RDS::DBInstance")]),
    );
    expect(template.find(run?.Properties.ServiceToken).Properties.FunctionName).toBe(
      `colophon-${given.name}-ops-migrate-on-deploy`,
    );
    expect(run?.Properties).toMatchObject({ Code: expect.stringMatching(/^[0-9a-f]{64}$/), ServiceTimeout: "3600" });
    expect(templateText(run?.Properties.Cluster)).toContain(template.one("RDS::DBCluster").id);
  });

  it("is open to operators only after its migrations", () => {
    const [run] = template.resources.filter(({ Type }) => Type === "Custom::Migration");
    const waiting = waitingFor(template, run?.id ?? "");
    const operations = template.all("Lambda::Function").filter(({ id }) => waiting.has(id));

    expect(operations.map(({ Properties }) => Properties.FunctionName).sort()).toEqual(
      operated.map((name) => `colophon-${given.name}-${name}`),
    );
  });
});

describe("An API stack", () => {
  it("is deployed after its database and the account's stack", async () => {
    const { default: manifest } = await import(`${synthesis.directory}/manifest.json`, { with: { type: "json" } });
    for (const { name, database } of settings.stages) {
      expect(manifest.artifacts[`colophon-${name}`].dependencies).toEqual(
        expect.arrayContaining(["colophon-account", `colophon-${database}-database`]),
      );
    }
  });
});

describe.each([
  ["governance", undefined],
  ["compliance", 7],
] as const)("The vault of copies in another region, locked in %s mode", (mode, changeableForDays) => {
  it("keeps each copy for the days of its settings, and is immutable in one of the modes only", async () => {
    const backupLock = { mode, daysMin: 14, daysMax: 35, changeableForDays: 7 };
    const prod = settings.databases.find(({ name }) => name === "prod") ?? expect.fail("no prod");
    const outdir = await mkdtemp(join(tmpdir(), "colophon-vault-"));
    onTestFinished(() => rm(outdir, { recursive: true }));
    const stack = new BackupStack(new App({ outdir }), "Backup", {
      settings: { ...prod, backupLock },
      databaseRegion: "eu-central-1",
    });

    const [vault] = Object.values(Assertions.fromStack(stack).findResources("AWS::Backup::BackupVault"));
    expect(vault?.Properties.LockConfiguration).toEqual({
      MinRetentionDays: 14,
      MaxRetentionDays: 35,
      ...(changeableForDays ? { ChangeableForDays: changeableForDays } : {}),
    });
  });
});

describe("A restored database", () => {
  const snapshot = "arn:aws:rds:eu-central-1:123456789012:cluster-snapshot:before-the-accident";
  const restore = { cluster: "colophon-dev-database", time: "2026-11-21T09:00:00Z" };
  let restored: Synthesis;

  beforeAll(async () => {
    const databases = settings.databases.map((each) => ({
      ...each,
      ...(each.name === "dev" ? { restore, zones: ["eu-central-1a", "eu-central-1c"] } : { snapshot }),
      mayBeEmpty: true,
    }));
    const none = { rate: 0, burst: 0 };
    const stages = settings.stages.map((each) => ({
      ...each,
      throttles: { ...each.throttles, changes: none, images: none, signIn: none },
    }));
    restored = await synthesize(synthesis.functions, settingsSchema.parse({ ...settings, databases, stages }));
  });

  afterAll(() => restored.remove());

  it.each([
    ["prod", { SnapshotIdentifier: snapshot }],
    ["dev", { SourceDBClusterIdentifier: restore.cluster, RestoreToTime: restore.time }],
  ])("takes the old one's place in %s, with another name and a password of its own", (name, origin) => {
    const cluster = restored.template(`colophon-${name}-database`).one("RDS::DBCluster").Properties;
    const old = synthesis.template(`colophon-${name}-database`).one("RDS::DBCluster").Properties;

    expect(cluster).toMatchObject({ ...origin, ManageMasterUserPassword: true });
    // AWS takes them from the origin, and refuses them beside it.
    for (const each of ["DatabaseName", "MasterUsername", "MasterUserPassword"])
      expect(cluster).not.toHaveProperty(each);
    expect(old.DBClusterIdentifier).toBe(`colophon-${name}-database`);
    expect(cluster.DBClusterIdentifier).toMatch(new RegExp(`^colophon-${name}-database-[0-9a-f]{8}$`));
  });

  it("may be empty only where its settings say so", () => {
    const propertiesIn = ({ template }: Pick<Synthesis, "template">) =>
      template("colophon-prod-database").resources.find(({ Type }) => Type === "Custom::Migration")?.Properties;

    expect(propertiesIn(synthesis)).not.toHaveProperty("MayBeEmpty");
    expect(propertiesIn(restored)).toMatchObject({ MayBeEmpty: true });
  });

  it("is taken over by every function of a stage, since it makes another release", () => {
    const releaseOf = ({ template }: Pick<Synthesis, "template">) =>
      template("colophon-prod").resources.find(({ Type }) => Type === "Custom::Release")?.Properties.Release;

    expect(releaseOf(restored)).toMatch(/^[0-9a-f]{12}$/);
    expect(releaseOf(restored)).not.toBe(releaseOf(synthesis));
  });

  it("takes no changes while its stages have throttles of 0", () => {
    const { MethodSettings } = restored.template("colophon-prod").one("ApiGateway::Stage").Properties;
    const limitsOf = (method: string) =>
      MethodSettings.filter(({ HttpMethod, ResourcePath }: Properties) => {
        return HttpMethod === method && (method === "POST" || !ResourcePath.startsWith("/~1sign-in"));
      }).map(({ ThrottlingRateLimit: rate, ThrottlingBurstLimit: burst }: Properties) => ({ rate, burst }));

    expect(limitsOf("POST").length).toBeGreaterThan(10);
    expect(new Set(limitsOf("POST").map((each: object) => JSON.stringify(each)))).toEqual(
      new Set(['{"rate":0,"burst":0}']),
    );
    for (const { rate } of limitsOf("GET")) expect(rate).toBeGreaterThan(0);
  });

  it("leaves the old one open to versions that still run", () => {
    const stage = restored.template("colophon-prod");
    const [role] = stage.all("IAM::Role").filter(({ id }) => id.startsWith("contributorslist"));
    const allowed = role?.Properties.Policies.flatMap((each: Properties) => each.PolicyDocument.Statement).find(
      ({ Action }: Properties) => [Action].flat().includes("rds-data:ExecuteStatement"),
    );
    const pattern = new RegExp(`:${templateText(allowed.Resource).split(":").at(-1)?.replace("*", ".*")}$`);

    for (const { template } of [synthesis, restored]) {
      const name = template("colophon-prod-database").one("RDS::DBCluster").Properties.DBClusterIdentifier;
      expect(`:${name}`).toMatch(pattern);
      expect(`:other-${name}`).not.toMatch(pattern);
    }
  });
});
