import { ArnFormat, Duration, RemovalPolicy, Stack, type StackProps } from "aws-cdk-lib";
import { BackupPlan, BackupPlanRule, BackupResource, BackupVault, BackupVaultEvents } from "aws-cdk-lib/aws-backup";
import { Schedule } from "aws-cdk-lib/aws-events";
import { ManagedPolicy, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { type IKey, Key } from "aws-cdk-lib/aws-kms";
import { Construct } from "constructs";
import type { DatabaseSettings } from "../stages.ts";
import type { AuroraCluster } from "./database/cluster.ts";
import { acknowledge } from "./shared/acknowledge.ts";
import type { Alarms } from "./shared/alarms.ts";

/** In both regions. */
const vaultName = ({ name }: DatabaseSettings) => `colophon-${name}-database`;

const keeping = ({ isProtected }: DatabaseSettings) =>
  isProtected ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY;

export interface BackupStackProps extends Pick<StackProps, "env" | "tags"> {
  readonly settings: DatabaseSettings;
}

/** Where copies of a database's backups lie, in another region and under a key of that region. */
export class BackupStack extends Stack {
  constructor(scope: Construct, id: string, { settings, ...place }: BackupStackProps) {
    super(scope, id, {
      ...place,
      description: `Colophon: copies of the backups of database ${settings.name}`,
      terminationProtection: settings.isProtected,
    });
    const key = new Key(this, "Key", {
      description: `Colophon: copies of the backups of database ${settings.name}`,
      enableKeyRotation: true,
      removalPolicy: keeping(settings),
    });
    new BackupVault(this, "Vault", {
      backupVaultName: vaultName(settings),
      encryptionKey: key as IKey,
      removalPolicy: keeping(settings),
    });
  }
}

export interface BackupCopiesProps {
  readonly settings: DatabaseSettings;
  readonly backupRegion: string;
  readonly database: AuroraCluster;
  readonly alarms: Alarms;
}

/** A copy of a large database takes hours, and until then its original is needed. */
const originalKeptDays = 2;

/**
 * A snapshot of the database each night, copied to the vault of another region, where it is kept for as long as backups
 * are here. Aurora itself makes backups that go back to any second, but only in its own region.
 */
export class BackupCopies extends Construct {
  constructor(scope: Construct, id: string, { settings, backupRegion, database, alarms }: BackupCopiesProps) {
    super(scope, id);
    const vault = new BackupVault(this, "Vault", {
      backupVaultName: vaultName(settings),
      removalPolicy: keeping(settings),
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
          deleteAfter: Duration.days(originalKeptDays),
          copyActions: [
            {
              destinationBackupVault: BackupVault.fromBackupVaultArn(this, "There", there),
              deleteAfter: Duration.days(settings.backupDays),
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
