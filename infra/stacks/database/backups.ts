import { Duration, Fn, type Stack } from "aws-cdk-lib";
import * as backup from "aws-cdk-lib/aws-backup";
import { Metric, Stats } from "aws-cdk-lib/aws-cloudwatch";
import { CfnSubnet, CfnVPC } from "aws-cdk-lib/aws-ec2";
import { Schedule } from "aws-cdk-lib/aws-events";
import { type IKey, Key } from "aws-cdk-lib/aws-kms";
import { CfnDBSubnetGroup } from "aws-cdk-lib/aws-rds";
import { Construct } from "constructs";
import type { BackupLock, DatabaseSettings } from "../../settings/schema.ts";
import { acknowledge } from "../shared/acknowledge.ts";
import { Alarms, isAbsent } from "../shared/alarms.ts";
import { globalPrefix } from "../shared/global-prefix.ts";
import { removalPolicyOf } from "../shared/log.ts";
import { makeServiceRole } from "../shared/role.ts";
import { identifierOf } from "./cluster.ts";
import type { AuroraCluster } from "./database.ts";

/**
 * The name of the vaults in both regions. It has the region of the database: when the database is restored in the region
 * of its copies, it gets a vault beside that of the copies.
 */
const vaultName = ({ name }: DatabaseSettings, region: string) =>
  `${globalPrefix(`colophon-${name}`, region)}-database`;

/** Copying a large database takes hours, and needs the original for as long. */
const originalRetentionDays = 2;

/** At this hour (UTC) the nightly backup begins that is copied to another region. */
const copyHour = 2;

/** One night's copy may take two hours longer than that of the night before. */
const hoursBetweenCopies = 26;

/**
 * Takes a snapshot of the database each night and copies it to the vault in another region, which keeps it for
 * `backupRetentionDays`. Aurora's own backups can be restored to any second, but exist only in the database's region.
 */
export function addBackupCopies(
  stack: Stack,
  settings: DatabaseSettings,
  backupRegion: string,
  database: AuroraCluster,
  alarms: Alarms,
): void {
  const scope = new Construct(stack, "Copies");
  const name = vaultName(settings, stack.region);
  const vault = new backup.BackupVault(scope, "Vault", {
    backupVaultName: name,
    removalPolicy: removalPolicyOf(settings.isProtected),
  });
  const there = stack.formatArn({ service: "backup", region: backupRegion, resource: `backup-vault:${name}` });
  const plan = new backup.BackupPlan(scope, "Plan", {
    backupPlanName: name,
    backupVault: vault,
    backupPlanRules: [
      new backup.BackupPlanRule({
        ruleName: "nightly",
        scheduleExpression: Schedule.cron({ hour: `${copyHour}`, minute: "0" }),
        deleteAfter: Duration.days(originalRetentionDays),
        copyActions: [
          {
            destinationBackupVault: backup.BackupVault.fromBackupVaultArn(scope, "There", there),
            deleteAfter: Duration.days(settings.backupRetentionDays),
          },
        ],
      }),
    ],
  });
  const role = makeServiceRole(
    scope,
    "Role",
    "backup.amazonaws.com",
    "AWSBackupServiceRolePolicyForBackup",
    "The policy that AWS keeps for exactly this service role. Nobody but AWS Backup can assume it, and the plan names this cluster alone.",
  );
  plan.addSelection("Cluster", {
    // A restored cluster's selection is made before the old one's is deleted.
    backupSelectionName: identifierOf(settings),
    resources: [backup.BackupResource.fromArn(database.clusterArn)],
    role,
    disableDefaultBackupPolicy: true,
  });
  // By EventBridge, because vaults no longer send notifications about backups that failed.
  const mail = (id: string, what: string, detail: Readonly<Record<string, string[]>>) =>
    alarms.mail(
      id,
      `Mails when a ${what.toLowerCase()} fails`,
      {
        source: ["aws.backup"],
        detailType: [`${what} Job State Change`],
        detail: { state: ["FAILED", "ABORTED", "EXPIRED", "PARTIAL"], ...detail },
      },
      `${what} of {$.detail.resourceArn}: {$.detail.state}. {$.detail.statusMessage}. Point-in-time restores still work; see infra/restore.md.`,
    );
  mail("BackupFailed", "Backup", { backupVaultName: [vault.backupVaultName] });
  mail("CopyFailed", "Copy", { destinationBackupVaultArn: [there] });
  alarms.add("backup-not-copied", {
    ...isAbsent,
    // A metric of AWS Backup about a copy has the name of the vault that it is copied to.
    metric: new Metric({
      namespace: "AWS/Backup",
      metricName: "NumberOfCopyJobsCompleted",
      dimensionsMap: { BackupVaultName: name },
      statistic: Stats.SUM,
      period: Duration.hours(1),
    }),
    impact: `For ${hoursBetweenCopies} hours no backup has been copied to ${backupRegion}: if the region were lost now, so would be everything since the last copy. See the vault's jobs in AWS Backup.`,
    evaluationPeriods: hoursBetweenCopies,
  });
}

/** The vault and the key for copies of a database's backups, in another region, and the test that they can be restored. */
export function addBackupVault(stack: Stack, settings: DatabaseSettings, databaseRegion: string): void {
  const { name, backupLock, drill } = settings;
  const removalPolicy = removalPolicyOf(settings.isProtected);
  const key = new Key(stack, "Key", {
    description: `Colophon: copies of the backups of database ${name}`,
    enableKeyRotation: true,
    removalPolicy,
  });
  const vault = new backup.BackupVault(stack, "Vault", {
    backupVaultName: vaultName(settings, databaseRegion),
    encryptionKey: key as IKey,
    removalPolicy,
    ...(backupLock ? { lockConfiguration: lockOf(backupLock) } : {}),
  });
  if (drill) testRestores(stack, settings, drill, vault);
}

/**
 * Each month AWS Backup restores the newest copy as a cluster without an instance, which costs next to nothing, and
 * deletes it. A mail tells each time how that went, since an alarm cannot wait for a month.
 */
function testRestores(
  stack: Stack,
  { name, alarmRecipient: recipients }: DatabaseSettings,
  { day, hour }: NonNullable<DatabaseSettings["drill"]>,
  vault: backup.BackupVault,
): void {
  const prefix = `colophon-${name}`;
  const plan = new backup.CfnRestoreTestingPlan(stack, "Plan", {
    // Letters, digits and underscores are all that is allowed here.
    restoreTestingPlanName: `${prefix}-drill`.replaceAll("-", "_"),
    scheduleExpression: Schedule.cron({ minute: "0", hour: `${hour}`, day: `${day}` }).expressionString,
    startWindowHours: 1,
    recoveryPointSelection: {
      algorithm: "LATEST_WITHIN_WINDOW",
      includeVaults: [vault.backupVaultArn],
      recoveryPointTypes: ["SNAPSHOT"],
      selectionWindowDays: 2,
    },
  });
  const { roleArn: iamRoleArn } = makeServiceRole(
    stack,
    "RestoreRole",
    "backup.amazonaws.com",
    "AWSBackupServiceRolePolicyForRestores",
    "The policy that AWS keeps for exactly this service role, and asks for in restore testing. Nobody but AWS Backup can assume it.",
  );
  const selection = new backup.CfnRestoreTestingSelection(stack, "Selection", {
    restoreTestingPlanName: plan.restoreTestingPlanName,
    restoreTestingSelectionName: "cluster",
    protectedResourceType: "Aurora",
    // The vault has copies of this database alone, whichever cluster it had. AWS Backup takes the wildcard or whole ARNs
    // (AWS Backup, "RestoreTestingSelectionForCreate").
    protectedResourceArns: ["*"],
    iamRoleArn,
    validationWindowHours: 1,
    restoreMetadataOverrides: { dbSubnetGroupName: makeSubnets(stack) },
  });
  selection.addResourceDependency(plan);
  const status = ["COMPLETED", "FAILED", "ABORTED"];
  const restoreTestingPlanArn = [plan.attrRestoreTestingPlanArn];
  new Alarms(stack, "Alarms", { prefix: `${prefix}-backup`, recipients }).mail(
    "Restored",
    "Mails whether the newest copy can be restored",
    { source: ["aws.backup"], detailType: ["Restore Job State Change"], detail: { status, restoreTestingPlanArn } },
    `The monthly drill restored a copy of the database ${name} in ${stack.region}: {$.detail.status}. {$.detail.statusMessage} Begun {$.detail.creationDate}, ended {$.detail.completionDate}. Unless it is COMPLETED, do not rely on the copies; see "Copies" in infra/restore.md.`,
  );
}

/**
 * AWS Backup would restore into the default network of the region, which an account may not have (AWS Backup, "Restore
 * testing inferred metadata"). The zones are the first two in alphabetical order of those with a default subnet, or of
 * all if none has one (CloudFormation, "Fn::GetAZs"). Should AWS add one before them, a deployment that changes the
 * subnets fails, and they are to be deleted first.
 */
function makeSubnets(stack: Stack): string {
  const network = new CfnVPC(stack, "Network", { cidrBlock: "10.0.0.0/16" });
  acknowledge(network, { "AwsSolutions-VPC7": "It has no routes out, and the restored clusters have no instance." });
  const subnetIds = [0, 1].map(
    (index) =>
      new CfnSubnet(stack, `Subnet${index + 1}`, {
        vpcId: network.ref,
        cidrBlock: `10.0.${index}.0/24`,
        availabilityZone: Fn.select(index, Fn.getAzs()),
      }).ref,
  );
  return new CfnDBSubnetGroup(stack, "Subnets", { dbSubnetGroupDescription: "For restores that are tried", subnetIds })
    .ref;
}

/** A lock in compliance mode has a date, after which neither AWS nor root can change it. */
const lockOf = ({ mode, daysMin, daysMax, changeableForDays }: BackupLock): backup.LockConfiguration => ({
  minRetention: Duration.days(daysMin),
  ...(daysMax === undefined ? {} : { maxRetention: Duration.days(daysMax) }),
  ...(mode === "compliance" ? { changeableFor: Duration.days(changeableForDays) } : {}),
});
