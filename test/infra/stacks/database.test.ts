import { describe, expect, it } from "vitest";
import { limitedRoles } from "../../../infra/build/database-role.ts";
import { isOfDatabase } from "../../../infra/settings/database-functions.ts";
import type { DatabaseSettings } from "../../../infra/settings/schema.ts";
import { settings } from "../../../infra/settings/settings.ts";
import { transferBucketOf } from "../../../infra/settings/transfer-bucket.ts";
import { restore, snapshot } from "./changed-settings.ts";
import { changedSynthesis, functions, type Properties, synthesis, type Template, templateText } from "./synthesis.ts";

const changed = await changedSynthesis();

/** The functions that operators invoke. */
const operated = functions
  .map(({ name }) => name)
  .filter((each) => isOfDatabase(each) && each !== "ops-migrate-on-deploy")
  .sort();

/** Everything that waits for a resource, directly or through others. */
function waitingFor(template: Template, id: string): Set<string> {
  const found = new Set([id]);
  for (const waiting of found)
    for (const each of template.resources) if (each.DependsOn?.includes(waiting)) found.add(each.id);
  return found;
}

const migrationIn = (template: Template) => template.one("Custom::Migration");

describe.each(settings.databases)("The database $name", (its: DatabaseSettings) => {
  const prefix = `colophon-${its.name}`;
  const { backupRegion, drill, trailRetentionDays } = its;
  const vaultName = `${prefix}-eu-central-1-database`;
  const vaultThere = `arn:\${AWS::Partition}:backup:${backupRegion}:123456789012:backup-vault:${vaultName}`;
  const template = synthesis.template(`${prefix}-database`);
  const cluster = template.one("RDS::DBCluster");
  const copies = () => synthesis.template(`${prefix}-backup`);

  it("is as large as its settings say, with a standby in another zone, and AWS upgrades nothing by itself", () => {
    const instances = template.each("RDS::DBInstance");
    const zones = instances.map(({ AvailabilityZone }) => JSON.stringify(AvailabilityZone));

    expect(cluster.Properties.EnableHttpEndpoint).toBe(true);
    expect(cluster.Properties.ServerlessV2ScalingConfiguration).toEqual({
      MinCapacity: its.capacityMin,
      MaxCapacity: its.capacityMax,
      ...(its.pausesAfterMinutes ? { SecondsUntilAutoPause: 60 * its.pausesAfterMinutes } : {}),
    });
    for (const each of instances) expect(each.AutoMinorVersionUpgrade).toBe(false);
    expect(instances).toHaveLength(its.standby ? 2 : 1);
    expect(new Set(zones).size).toBe(zones.length);
  });

  it("writes to a log that is there before it, and is not kept for ever", () => {
    const name = `/aws/rds/cluster/${cluster.Properties.DBClusterIdentifier}/postgresql`;
    const log = template.the("Logs::LogGroup", "LogGroupName", name);

    expect(log.Properties.RetentionInDays).toBe(its.logRetentionDays);
    expect(cluster.DependsOn).toContain(log.id);
  });

  it("mails failovers and failures", () => {
    const { SnsTopicArn, EventCategories } = template.one("RDS::EventSubscription").Properties;
    const statements: Properties[] = template.one("SNS::TopicPolicy").Properties.PolicyDocument.Statement;

    expect(EventCategories).toEqual(["failover", "failure", "maintenance"]);
    expect(template.find(SnsTopicArn)).toBe(template.one("SNS::Topic"));
    expect(statements.map(({ Principal }) => Principal.Service)).toContain("events.rds.amazonaws.com");
  });

  it.runIf(backupRegion)("is copied to another region each night", () => {
    const vault = copies().one("Backup::BackupVault").Properties;
    const [rule, ...others] = template.one("Backup::BackupPlan").Properties.BackupPlan.BackupPlanRule;
    const { Resources } = template.one("Backup::BackupSelection").Properties.BackupSelection;

    expect(others).toEqual([]);
    expect(rule.ScheduleExpression).toBe("cron(0 2 * * ? *)");
    expect(rule.CopyActions).toMatchObject([{ Lifecycle: { DeleteAfterDays: its.backupRetentionDays } }]);
    expect(vault.BackupVaultName).toBe(vaultName);
    expect(templateText(rule.CopyActions[0].DestinationBackupVaultArn)).toBe(vaultThere);
    expect(Resources.map(templateText)).toEqual([expect.stringMatching(`:cluster:\\$\\{${cluster.id}\\}$`)]);
    expect(copies().find(vault.EncryptionKeyArn).DeletionPolicy).toBe("RetainExceptOnCreate");
  });

  it.runIf(backupRegion).each([
    {
      type: "Backup",
      vault: "backupVaultName",
      arn: () => `\${${template.one("Backup::BackupVault").id}.BackupVaultName}`,
    },
    { type: "Copy", vault: "destinationBackupVaultArn", arn: () => vaultThere },
  ])("mails when a $type fails, with the reason", ({ type, vault, arn }) => {
    const patterns = template.each("Events::Rule").map(({ EventPattern }) => EventPattern);
    const { detail } = patterns.find((each) => each["detail-type"][0] === `${type} Job State Change`);

    expect(detail.state).toEqual(["FAILED", "ABORTED", "EXPIRED", "PARTIAL"]);
    expect(detail[vault].map(templateText)).toEqual([arn()]);
  });

  it.runIf(drill)("is restored from its copies each month, in their region, and a mail says how that went", () => {
    const there = copies();
    const plan = there.one("Backup::RestoreTestingPlan");
    const { RecoveryPointSelection, ScheduleExpression } = plan.Properties;
    const selection = there.one("Backup::RestoreTestingSelection").Properties;
    const { detail } = there.one("Events::Rule").Properties.EventPattern;

    expect(ScheduleExpression).toBe(`cron(0 ${drill?.hour} ${drill?.day} * ? *)`);
    expect(RecoveryPointSelection).toMatchObject({ Algorithm: "LATEST_WITHIN_WINDOW", SelectionWindowDays: 2 });
    expect(there.find(RecoveryPointSelection.IncludeVaults[0])).toBe(there.one("Backup::BackupVault"));
    expect(selection).toMatchObject({ ProtectedResourceType: "Aurora", ProtectedResourceArns: ["*"] });
    expect(detail.status).toEqual(["COMPLETED", "FAILED", "ABORTED"]);
    expect(there.find(detail.restoreTestingPlanArn[0])).toBe(plan);
  });

  it("has its operators' invocations in CloudTrail where its settings say so, and nothing else", () => {
    const trails = template.each("CloudTrail::Trail");
    expect(trails).toHaveLength(trailRetentionDays ? 1 : 0);
    for (const { EventSelectors, S3BucketName, ...trail } of trails) {
      const [{ DataResources, IncludeManagementEvents }, ...others] = EventSelectors;
      const recorded = DataResources.flatMap(({ Values }: Properties) =>
        Values.map((each: unknown) => template.find(each).Properties.FunctionName),
      );
      expect(trail).toMatchObject({ EnableLogFileValidation: true, IsLogging: true });
      expect([IncludeManagementEvents, others]).toEqual([false, []]);
      expect(recorded.sort()).toEqual(operated.map((name) => `${prefix}-${name}`));
      expect(template.find(S3BucketName).Properties.LifecycleConfiguration.Rules).toMatchObject([
        { ExpirationInDays: trailRetentionDays, NoncurrentVersionExpiration: { NoncurrentDays: 30 } },
      ]);
    }
  });

  it("has a login for each role of functions, whose password a function changes every 30 days", () => {
    const secrets = template.all("SecretsManager::Secret");
    const schedules = template.each("SecretsManager::RotationSchedule");
    const rotation = template.the("Lambda::Function", "FunctionName", `${prefix}-ops-rotate-password`);

    expect(secrets.map(({ Properties }) => Properties.GenerateSecretString)).toMatchObject(
      limitedRoles.map((role) => ({ SecretStringTemplate: `{"username":"colophon_${role}"}`, PasswordLength: 40 })),
    );
    expect(schedules.map(({ SecretId }) => template.find(SecretId))).toEqual(secrets);
    for (const { RotationLambdaARN, ...schedule } of schedules) {
      expect(template.find(RotationLambdaARN)).toBe(rotation);
      const RotationRules = { AutomaticallyAfterDays: 30 };
      expect(schedule).toMatchObject({ RotationRules, RotateImmediatelyOnUpdate: false });
    }
    expect(template.one("Lambda::Permission").Properties).toMatchObject({
      Principal: "secretsmanager.amazonaws.com",
      SourceAccount: settings.account.id,
    });
  });

  it("is encrypted by a key of its own, backed up, and protected where its settings say so", () => {
    const key = template.find(cluster.Properties.KmsKeyId);

    expect(cluster.Properties).toMatchObject({
      BackupRetentionPeriod: its.backupRetentionDays,
      ManageMasterUserPassword: true,
      DeletionProtection: its.isProtected,
    });
    expect([cluster.DeletionPolicy, key.DeletionPolicy]).toEqual(
      its.isProtected ? ["Snapshot", "RetainExceptOnCreate"] : ["Delete", "Delete"],
    );
    // Stages use the old instances until they are deployed.
    for (const each of template.all("RDS::DBInstance"))
      expect(each.UpdateReplacePolicy).toBe(its.isProtected ? "Retain" : "Delete");
  });

  it("is in a network without routes out", () => {
    const ways = ["InternetGateway", "NatGateway", "Route", "EIP", "VPCEndpoint", "SecurityGroupIngress"];
    for (const type of ways) expect(template.all(`EC2::${type}`)).toEqual([]);
    for (const { PubliclyAccessible } of template.each("RDS::DBInstance")) expect(PubliclyAccessible).toBe(false);
    const { SecurityGroupIngress, SecurityGroupEgress } = template.one("EC2::SecurityGroup").Properties;
    expect(SecurityGroupIngress).toBeUndefined();
    // EC2 adds a rule that allows everything unless there is one; this one allows a kind of ping to no address.
    expect(SecurityGroupEgress).toMatchObject([{ CidrIp: "255.255.255.255/32", IpProtocol: "icmp" }]);
  });

  it("is migrated once its writer runs and when the code or the cluster changes, and then open to operators", () => {
    const { id, DependsOn, Properties: migration } = migrationIn(template);
    const waiting = waitingFor(template, id);
    const opened = template.all("Lambda::Function").filter((each) => waiting.has(each.id));

    const instances = template.all("RDS::DBInstance").map((it) => it.id);
    expect(DependsOn).toEqual(expect.arrayContaining([cluster.id, ...instances]));
    expect(template.find(migration.ServiceToken).Properties.FunctionName).toBe(`${prefix}-ops-migrate-on-deploy`);
    expect(migration).toMatchObject({ Code: expect.stringMatching(/^[0-9a-f]{64}$/), ServiceTimeout: "900" });
    expect(templateText(migration.Cluster)).toContain(cluster.id);
    expect(migration).not.toHaveProperty("MayBeEmpty");
    expect(opened.map(({ Properties }) => Properties.FunctionName).sort()).toEqual(
      operated.map((name) => `${prefix}-${name}`),
    );
  });

  it("has a bucket for transfers that forgets files after 30 days and logs who moves them", () => {
    const name = transferBucketOf(its, settings.account);
    const { Properties: bucket } = template.the("S3::Bucket", "BucketName", name);
    const logs = template.find(bucket.LoggingConfiguration.DestinationBucketName).Properties;

    expect(bucket.LifecycleConfiguration.Rules).toMatchObject([{ ExpirationInDays: 30 }]);
    expect(bucket).not.toHaveProperty("VersioningConfiguration");
    expect(logs.LifecycleConfiguration.Rules).toMatchObject([{ ExpirationInDays: its.logRetentionDays }]);
  });
});

describe.each([
  { name: "prod", origin: { SnapshotIdentifier: snapshot }, lock: { ChangeableForDays: 7 } },
  { name: "dev", origin: { SourceDBClusterIdentifier: restore.cluster, RestoreToTime: restore.time }, lock: {} },
])("A restored database for $name", ({ name, origin, lock }) => {
  const template = changed.template(`colophon-${name}-database`);
  const cluster = template.one("RDS::DBCluster").Properties;

  it("takes the old one's place, with another name and a password of its own, and may be empty", () => {
    const old = synthesis.template(`colophon-${name}-database`).one("RDS::DBCluster").Properties;

    expect(cluster).toMatchObject({ ...origin, ManageMasterUserPassword: true });
    // AWS takes them from the origin, and refuses them beside it.
    for (const each of ["DatabaseName", "MasterUsername", "MasterUserPassword"])
      expect(cluster).not.toHaveProperty(each);
    expect(old.DBClusterIdentifier).toBe(`colophon-${name}-database`);
    expect(cluster.DBClusterIdentifier).toMatch(new RegExp(`^colophon-${name}-database-[0-9a-f]{8}$`));
    expect(migrationIn(template).Properties).toMatchObject({ MayBeEmpty: true });
  });

  it("leaves the old one open to versions of functions that still run", () => {
    const stage = changed.template(`colophon-${name}`);
    const { Role } = stage.the("Lambda::Function", "FunctionName", `colophon-${name}-contributors-list`).Properties;
    const { Resource } = stage
      .find(Role)
      .Properties.Policies.flatMap((each: Properties) => each.PolicyDocument.Statement)
      .find(({ Action }: Properties) => Action.includes("rds-data:ExecuteStatement"));
    const pattern = new RegExp(`:${templateText(Resource).split(":").at(-1)?.replace("*", ".*")}$`);

    for (const each of [`colophon-${name}-database`, cluster.DBClusterIdentifier]) {
      expect(`:${each}`).toMatch(pattern);
      expect(`:other-${each}`).not.toMatch(pattern);
    }
  });

  it("has a vault of copies that keeps each for its days, and is immutable in one mode of its lock only", () => {
    const { LockConfiguration } = changed.template(`colophon-${name}-backup`).one("Backup::BackupVault").Properties;

    expect(LockConfiguration).toEqual({ MinRetentionDays: 14, MaxRetentionDays: 35, ...lock });
  });
});
