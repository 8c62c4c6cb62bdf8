import { ArnFormat, Duration, type Stack } from "aws-cdk-lib";
import { BackupPlan, BackupPlanRule, BackupResource, BackupVault } from "aws-cdk-lib/aws-backup";
import { Metric, Stats } from "aws-cdk-lib/aws-cloudwatch";
import { Schedule } from "aws-cdk-lib/aws-events";
import { Construct } from "constructs";
import type { DatabaseSettings } from "../../settings/schema.ts";

import { vaultName } from "../backup-stack.ts";
import { type Alarms, isAbsent } from "../shared/alarms.ts";
import { removalPolicyOf } from "../shared/log.ts";
import { makeServiceRole } from "../shared/role.ts";
import { type AuroraCluster, identifierOf } from "./cluster.ts";

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
  const vault = new BackupVault(scope, "Vault", {
    backupVaultName: name,
    removalPolicy: removalPolicyOf(settings.isProtected),
  });
  const there = stack.formatArn({
    service: "backup",
    region: backupRegion,
    resource: "backup-vault",
    resourceName: name,
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
  const plan = new BackupPlan(scope, "Plan", {
    backupPlanName: name,
    backupVault: vault,
    backupPlanRules: [
      new BackupPlanRule({
        ruleName: "nightly",
        scheduleExpression: Schedule.cron({ hour: `${copyHour}`, minute: "0" }),
        deleteAfter: Duration.days(originalRetentionDays),
        copyActions: [
          {
            destinationBackupVault: BackupVault.fromBackupVaultArn(scope, "There", there),
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
    resources: [BackupResource.fromArn(database.clusterArn)],
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
