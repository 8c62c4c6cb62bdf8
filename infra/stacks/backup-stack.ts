import { Duration, Fn, RemovalPolicy, Stack, type StackProps } from "aws-cdk-lib";
import {
  BackupVault,
  CfnRestoreTestingPlan,
  CfnRestoreTestingSelection,
  type LockConfiguration,
} from "aws-cdk-lib/aws-backup";
import { CfnSubnet, CfnVPC } from "aws-cdk-lib/aws-ec2";
import { Schedule } from "aws-cdk-lib/aws-events";
import { ManagedPolicy, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { type IKey, Key } from "aws-cdk-lib/aws-kms";
import { CfnDBSubnetGroup } from "aws-cdk-lib/aws-rds";
import type { Construct } from "constructs";
import type { BackupLock, DatabaseSettings } from "../settings/schema.ts";
import { acknowledge } from "./shared/acknowledge.ts";
import { Alarms } from "./shared/alarms.ts";
import { globalPrefix } from "./shared/global-prefix.ts";

/**
 * The name of the vaults in both regions. It has the region of the database: when the database is restored in the region
 * of its copies, it gets a vault beside that of the copies.
 */
export const vaultName = ({ name }: DatabaseSettings, region: string) =>
  `${globalPrefix(`colophon-${name}`, region)}-database`;

export const vaultRemovalPolicy = ({ isProtected }: DatabaseSettings) =>
  isProtected ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY;

export interface BackupStackProps extends Pick<StackProps, "env" | "tags" | "synthesizer"> {
  readonly settings: DatabaseSettings;
  readonly databaseRegion: string;
}

/** The vault and the key for copies of a database's backups, in another region, and the test that they can be restored. */
export class BackupStack extends Stack {
  constructor(scope: Construct, id: string, { settings, databaseRegion, ...stackProps }: BackupStackProps) {
    super(scope, id, {
      ...stackProps,
      description: `Colophon: copies of the backups of database ${settings.name}`,
      terminationProtection: settings.isProtected,
    });
    const key = new Key(this, "Key", {
      description: `Colophon: copies of the backups of database ${settings.name}`,
      enableKeyRotation: true,
      removalPolicy: vaultRemovalPolicy(settings),
    });
    const vault = new BackupVault(this, "Vault", {
      backupVaultName: vaultName(settings, databaseRegion),
      encryptionKey: key as IKey,
      removalPolicy: vaultRemovalPolicy(settings),
      ...(settings.backupLock ? { lockConfiguration: lockOf(settings.backupLock) } : {}),
    });
    if (settings.drill) this.testRestores(settings, settings.drill, vault);
  }

  /**
   * Each month AWS Backup restores the newest copy as a cluster without an instance, which costs next to nothing, and
   * deletes it. A mail tells each time how that went, since an alarm cannot wait for a month.
   */
  private testRestores(
    { name, alarmRecipient: recipient }: DatabaseSettings,
    { day, hour }: NonNullable<DatabaseSettings["drill"]>,
    vault: BackupVault,
  ): void {
    const prefix = `colophon-${name}`;
    const plan = new CfnRestoreTestingPlan(this, "Plan", {
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
    const role = new Role(this, "RestoreRole", {
      assumedBy: new ServicePrincipal("backup.amazonaws.com"),
      managedPolicies: [ManagedPolicy.fromAwsManagedPolicyName("service-role/AWSBackupServiceRolePolicyForRestores")],
    });
    acknowledge(role, {
      "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSBackupServiceRolePolicyForRestores]":
        "The policy that AWS keeps for exactly this service role, and asks for in restore testing. Nobody but AWS Backup can assume it.",
    });
    const selection = new CfnRestoreTestingSelection(this, "Selection", {
      restoreTestingPlanName: plan.restoreTestingPlanName,
      restoreTestingSelectionName: "cluster",
      protectedResourceType: "Aurora",
      // The vault has copies of this database alone, whichever cluster it had. AWS Backup takes the wildcard or whole ARNs
      // (AWS Backup, "RestoreTestingSelectionForCreate").
      protectedResourceArns: ["*"],
      iamRoleArn: role.roleArn,
      validationWindowHours: 1,
      restoreMetadataOverrides: { dbSubnetGroupName: this.makeSubnets() },
    });
    selection.addResourceDependency(plan);
    new Alarms(this, "Alarms", { prefix: `${prefix}-backup`, recipient }).mail("Restored", {
      description: "Mails whether the newest copy can be restored",
      eventPattern: {
        source: ["aws.backup"],
        detailType: ["Restore Job State Change"],
        detail: {
          status: ["COMPLETED", "FAILED", "ABORTED"],
          restoreTestingPlanArn: [plan.attrRestoreTestingPlanArn],
        },
      },
      message: `The monthly drill restored a copy of the database ${name} in ${this.region}: {$.detail.status}. {$.detail.statusMessage} Begun {$.detail.creationDate}, ended {$.detail.completionDate}. Unless it is COMPLETED, do not rely on the copies; see "Copies" in infra/restore.md.`,
    });
  }

  /**
   * AWS Backup would restore into the default network of the region, which an account may not have (AWS Backup, "Restore
   * testing inferred metadata"). The zones are the first two in alphabetical order of those with a default subnet, or of
   * all if none has one (CloudFormation, "Fn::GetAZs"). Should AWS add one before them, a deployment that changes the
   * subnets fails, and they are to be deleted first.
   */
  private makeSubnets(): string {
    const network = new CfnVPC(this, "Network", { cidrBlock: "10.0.0.0/16" });
    acknowledge(network, { "AwsSolutions-VPC7": "It has no routes out, and the restored clusters have no instance." });
    const subnetIds = [0, 1].map(
      (index) =>
        new CfnSubnet(this, `Subnet${index + 1}`, {
          vpcId: network.ref,
          cidrBlock: `10.0.${index}.0/24`,
          availabilityZone: Fn.select(index, Fn.getAzs()),
        }).ref,
    );
    return new CfnDBSubnetGroup(this, "Subnets", { dbSubnetGroupDescription: "For restores that are tried", subnetIds })
      .ref;
  }
}

/** A lock in compliance mode has a date, after which neither AWS nor root can change it. */
const lockOf = ({ mode, daysMin, daysMax, changeableForDays }: BackupLock): LockConfiguration => ({
  minRetention: Duration.days(daysMin),
  ...(daysMax === undefined ? {} : { maxRetention: Duration.days(daysMax) }),
  ...(mode === "compliance" ? { changeableFor: Duration.days(changeableForDays) } : {}),
});
