import { beforeAll, describe, expect, it } from "vitest";
import { type DatabaseSettings, settings } from "../../../infra/stages.ts";
import { spell, synthesize, type Template, useSynthesis } from "./synthesis.ts";

const synthesis = useSynthesis();

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
    expect(template.one("RDS::DBInstance").Properties).toMatchObject({
      DBInstanceClass: "db.serverless",
      PubliclyAccessible: false,
      AutoMinorVersionUpgrade: false,
    });
  });

  it("is encrypted, backed up, and its master's password rotated by RDS", () => {
    expect(template.one("RDS::DBCluster").Properties).toMatchObject({
      StorageEncrypted: true,
      BackupRetentionPeriod: given.backupDays,
      ManageMasterUserPassword: true,
    });
    expect(template.one("RDS::DBCluster").Properties).not.toHaveProperty("MasterUserPassword");
  });

  it("has a secret for each role that functions log in as, as the Data API wants it", () => {
    const secrets = template.all("SecretsManager::Secret").map(({ Properties }) => Properties.GenerateSecretString);

    expect(secrets).toEqual(
      ["colophon_public", "colophon_admin"].map((username) => ({
        SecretStringTemplate: JSON.stringify({ username }),
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
      Array(2).fill("AWS::SecretsManager::Secret"),
    );
    expect(new Set(schedules.map(({ SecretId }) => SecretId.Ref)).size).toBe(2);
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

  it("is protected where its settings say so", () => {
    const { Properties, DeletionPolicy } = template.one("RDS::DBCluster");
    expect({ protection: Properties.DeletionProtection, DeletionPolicy }).toEqual(
      given.isProtected
        ? { protection: true, DeletionPolicy: "Snapshot" }
        : { protection: false, DeletionPolicy: "Delete" },
    );
  });

  it("answers on when it is protected and a restored one takes its place", () => {
    const kept = given.isProtected ? "Retain" : "Delete";
    expect(template.one("RDS::DBInstance").UpdateReplacePolicy).toBe(kept);
  });

  it("lies in a network that leads nowhere", () => {
    const ways = ["EC2::InternetGateway", "EC2::NatGateway", "EC2::Route", "EC2::EIP", "EC2::VPCEndpoint"];
    for (const type of ways) expect(template.all(type)).toEqual([]);
    expect(template.all("EC2::Subnet").map(({ Properties }) => Properties.MapPublicIpOnLaunch)).toEqual([false, false]);
    expect(template.one("EC2::SecurityGroup").Properties).not.toHaveProperty("SecurityGroupIngress");
    expect(template.all("EC2::SecurityGroupIngress")).toEqual([]);
    expect(template.all("EC2::FlowLog")).toHaveLength(1);
  });

  it("is migrated once its writer runs, and again when the migrations or the cluster change", () => {
    const [run] = template.resources.filter(({ Type }) => Type === "Custom::Migration");

    expect(run?.DependsOn).toEqual(
      expect.arrayContaining([...idsOf(template, "RDS::DBCluster"), ...idsOf(template, "RDS::DBInstance")]),
    );
    expect(template.find(run?.Properties.ServiceToken).Properties.FunctionName).toBe(
      `colophon-${given.name}-migrate-on-deploy`,
    );
    expect(run?.Properties).toMatchObject({ Code: expect.stringMatching(/^[0-9a-f]{64}$/), ServiceTimeout: "900" });
    expect(spell(run?.Properties.Cluster)).toContain(template.one("RDS::DBCluster").id);
  });

  it("is open to operators only after its migrations", () => {
    const [run] = template.resources.filter(({ Type }) => Type === "Custom::Migration");
    const waiting = waitingFor(template, run?.id ?? "");
    const operations = template.all("Lambda::Function").filter(({ id }) => waiting.has(id));

    expect(operations.map(({ Properties }) => Properties.FunctionName).sort()).toEqual(
      ["ops-create-user", "ops-issue-refresh-token", "ops-list-changes", "ops-migrate", "ops-rotate-password"].map(
        (name) => `colophon-${given.name}-${name}`,
      ),
    );
  });

  it("tells API stacks where it is by parameters, which they read", () => {
    const names = template.all("SSM::Parameter").map(({ Properties }) => Properties.Name as string);
    expect(names).toHaveLength(4);
    for (const { name } of settings.stages.filter(({ database }) => database === given.name)) {
      const { Parameters } = synthesis.template(`colophon-${name}`);
      const read = Object.values(Parameters).filter(({ Type }) => Type === "AWS::SSM::Parameter::Value<String>");
      expect(read.map(({ Default }) => Default)).toEqual(expect.arrayContaining(names));
    }
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

describe("A database restored from a snapshot", () => {
  it("takes the old one's place, with another name and a password of its own", async () => {
    const [dev, ...others] = settings.databases;
    const snapshot = "arn:aws:rds:eu-central-1:123456789012:cluster-snapshot:before-the-accident";
    const restored = { ...settings, databases: [{ ...(dev as DatabaseSettings), snapshot }, ...others] };
    const { template, remove } = await synthesize(synthesis.shipment, restored);
    const cluster = template("colophon-dev-database").one("RDS::DBCluster");
    await remove();

    expect(cluster.Properties).toMatchObject({ SnapshotIdentifier: snapshot, ManageMasterUserPassword: true });
    expect(cluster.Properties).not.toHaveProperty("DatabaseName");
  });
});
