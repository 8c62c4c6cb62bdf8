import { ArnFormat, Duration, RemovalPolicy, Stack, type StackProps } from "aws-cdk-lib";
import { BackupPlan, BackupPlanRule, BackupResource, BackupVault, BackupVaultEvents } from "aws-cdk-lib/aws-backup";
import { Schedule } from "aws-cdk-lib/aws-events";
import { ManagedPolicy, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { type IKey, Key } from "aws-cdk-lib/aws-kms";
import { Construct } from "constructs";
import type { DatabaseSettings } from "../settings/schema.ts";
import type { AuroraCluster } from "./database/cluster.ts";
import { acknowledge } from "./shared/acknowledge.ts";
import type { Alarms } from "./shared/alarms.ts";

/** The name of the vaults in both regions. */
const vaultName = ({ name }: DatabaseSettings) => `colophon-${name}-database`;

const removalPolicyOf = ({ isProtected }: DatabaseSettings) =>
  isProtected ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY;

export interface BackupStackProps extends Pick<StackProps, "env" | "tags"> {
  readonly settings: DatabaseSettings;
}

/** The vault and the key for copies of a database's backups, in another region. */
export class BackupStack extends Stack {
  constructor(scope: Construct, id: string, { settings, ...stackProps }: BackupStackProps) {
    super(scope, id, {
      ...stackProps,
      description: `Colophon: copies of the backups of database ${settings.name}`,
      terminationProtection: settings.isProtected,
    });
    const key = new Key(this, "Key", {
      description: `Colophon: copies of the backups of database ${settings.name}`,
      enableKeyRotation: true,
      removalPolicy: removalPolicyOf(settings),
    });
    new BackupVault(this, "Vault", {
      backupVaultName: vaultName(settings),
      encryptionKey: key as IKey,
      removalPolicy: removalPolicyOf(settings),
    });
  }
}

export interface BackupCopiesProps {
  readonly settings: DatabaseSettings;
  readonly backupRegion: string;
  readonly database: AuroraCluster;
  readonly alarms: Alarms;
}

/** Copying a large database takes hours, and needs the original for as long. */
const originalRetentionDays = 2;

/**
 * Takes a snapshot of the database each night and copies it to the vault in another region, which keeps it for
 * `backupRetentionDays`. Aurora's own backups can be restored to any second, but exist only in the database's region.
 */
export class BackupCopies extends Construct {
  constructor(scope: Construct, id: string, { settings, backupRegion, database, alarms }: BackupCopiesProps) {
    super(scope, id);
    const vault = new BackupVault(this, "Vault", {
      backupVaultName: vaultName(settings),
      removalPolicy: removalPolicyOf(settings),
      notificationTopic: alarms.topic,
      notificationEvents: [BackupVaultEvents.BACKUP_JOB_FAILED, BackupVaultEvents.COPY_JOB_FAILED],
    });
    const there = Stack.of(this).formatArn({
      service: "backup",
      region: backupRegion,
      resource: "backup-vault",
      resourceName: vaultName(settings),
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
    const plan = new BackupPlan(this, "Plan", {
      backupPlanName: vaultName(settings),
      backupVault: vault,
      backupPlanRules: [
        new BackupPlanRule({
          ruleName: "nightly",
          scheduleExpression: Schedule.cron({ hour: "2", minute: "0" }),
          deleteAfter: Duration.days(originalRetentionDays),
          copyActions: [
            {
              destinationBackupVault: BackupVault.fromBackupVaultArn(this, "There", there),
              deleteAfter: Duration.days(settings.backupRetentionDays),
            },
          ],
        }),
      ],
    });
    const role = new Role(this, "Role", {
      assumedBy: new ServicePrincipal("backup.amazonaws.com"),
      managedPolicies: [ManagedPolicy.fromAwsManagedPolicyName("service-role/AWSBackupServiceRolePolicyForBackup")],
    });
    acknowledge(role, {
      "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSBackupServiceRolePolicyForBackup]":
        "The policy that AWS keeps for exactly this service role. Nobody but AWS Backup can assume it, and the plan names this cluster alone.",
    });
    plan.addSelection("Cluster", {
      resources: [BackupResource.fromArn(database.clusterArn)],
      role,
      disableDefaultBackupPolicy: true,
    });
  }
}
