import { Duration, RemovalPolicy, Stack, type StackProps } from "aws-cdk-lib";
import { BackupVault, type LockConfiguration } from "aws-cdk-lib/aws-backup";
import { type IKey, Key } from "aws-cdk-lib/aws-kms";
import type { Construct } from "constructs";
import type { BackupLock, DatabaseSettings } from "../settings/schema.ts";
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

/** The vault and the key for copies of a database's backups, in another region. */
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
    new BackupVault(this, "Vault", {
      backupVaultName: vaultName(settings, databaseRegion),
      encryptionKey: key as IKey,
      removalPolicy: vaultRemovalPolicy(settings),
      ...(settings.backupLock ? { lockConfiguration: lockOf(settings.backupLock) } : {}),
    });
  }
}

/** A lock in compliance mode has a date, after which neither AWS nor root can change it. */
const lockOf = ({ mode, daysMin, daysMax, changeableForDays }: BackupLock): LockConfiguration => ({
  minRetention: Duration.days(daysMin),
  ...(daysMax === undefined ? {} : { maxRetention: Duration.days(daysMax) }),
  ...(mode === "compliance" ? { changeableFor: Duration.days(changeableForDays) } : {}),
});
