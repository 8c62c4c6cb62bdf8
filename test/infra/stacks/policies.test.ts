import { beforeAll, describe, expect, it } from "vitest";
import { isServed } from "../../../infra/api/document.ts";
import { type LimitedRole, limitedRoles } from "../../../infra/build/database-role.ts";
import { settings } from "../../../infra/stages.ts";
import { functionName, isPublic } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { type Properties, type Resource, stacks, type Template, templateText, useSynthesis } from "./synthesis.ts";

const synthesis = useSynthesis();

interface Right {
  readonly action: string;
  readonly resource: string;
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value]);

/** Every action a policy document allows, with every resource. */
function rightsIn(document: Properties): Right[] {
  return (document.Statement as Properties[]).flatMap(({ Effect, Action, Resource: resources, ...rest }) => {
    expect(Effect).toBe("Allow");
    expect(rest).not.toHaveProperty("NotAction");
    expect(rest).not.toHaveProperty("NotResource");
    return listOf(Action).flatMap((action) =>
      listOf(resources).map((each) => ({ action: String(action), resource: templateText(each) })),
    );
  });
}

const clusters = `arn:\${AWS::Partition}:rds:eu-central-1:123456789012:cluster:`;

/** The rights of a function, with the names of the log, of the cluster, its secret and the bucket put in words. */
function rightsOf(template: Template, { Properties: lambda }: Resource): string[] {
  const { id, Properties: role } = template.find(lambda.Role);
  expect(template.each("IAM::Policy").filter(({ Roles }) => Roles.some(({ Ref }: Properties) => Ref === id))).toEqual(
    [],
  );
  expect(role.ManagedPolicyArns ?? []).toEqual([]);
  const variables: Properties = lambda.Environment.Variables;
  const IMAGE_BUCKET = template
    .each("Lambda::Function")
    .flatMap(({ Environment }) => Environment.Variables.IMAGE_BUCKET ?? []);
  const transfers = template.all("S3::Bucket").filter(({ Properties }) => /-transfers-/.test(Properties.BucketName));
  const ofVariables = {
    DATABASE_CLUSTER_ARN: "the cluster",
    DATABASE_SECRET_ARN: "the secret",
    ...Object.fromEntries(
      limitedRoles.map((each) => [`DATABASE_${each.toUpperCase()}_SECRET_ARN`, `the ${each} secret`]),
    ),
    IMAGE_DISTRIBUTION: "the CDN",
    API_DISTRIBUTION: "the edge",
    SIGN_IN_KEY_ARN: "the key of attempts",
    API_DOOR_ARN: "the door",
    SIGN_IN_CLIENT_SECRET_ARN: "the client's secret",
  };
  const words: [string, string][] = [
    [`\${${lambda.LoggingConfig.LogGroup.Ref}.Arn}`, "the log"],
    ...settings.databases.map(({ name }): [string, string] => [
      `${clusters}colophon-${name}-database*`,
      `clusters of ${name}`,
    ]),
    [`function:${lambda.FunctionName}`, "itself"],
    ...IMAGE_BUCKET.map((each): [string, string] => [templateText(each).replace("}", ".Arn}"), "the bucket"]),
    ...[...transfers, ...template.all("SQS::Queue")].map(({ id, Type }): [string, string] => [
      `\${${id}.Arn}`,
      Type === "AWS::SQS::Queue" ? "the queue" : "the transfers",
    ]),
    ...Object.entries(ofVariables).flatMap(([name, word]): [string, string][] =>
      name in variables ? [[templateText(variables[name]), word]] : [],
    ),
  ];
  return rightsIn({ Statement: role.Policies.flatMap((each: Properties) => each.PolicyDocument.Statement) })
    .map(({ action, resource }) => {
      const named = resource.replace(/^arn:.*:cloudfront:.*:distribution\/|^arn:.*:lambda:[^:]*:\d+:/, "");
      return `${action} ${words.reduce((text, [name, word]) => text.replace(name, word), named)}`;
    })
    .sort();
}

const log = ["logs:CreateLogStream the log", "logs:PutLogEvents the log"];
/** A stage also has those whose place a restored cluster takes; what belongs to the database has but its own. */
const clusterOf = (stack: string) => {
  const stage = settings.stages.find(({ name }) => stack === `colophon-${name}`);
  return stage ? `clusters of ${stage.database}` : "the cluster";
};
const databaseOf = (stack: string) => [
  `rds-data:ExecuteStatement ${clusterOf(stack)}`,
  "secretsmanager:GetSecretValue the secret",
];
const transactionsOf = (stack: string) =>
  ["Begin", "Commit", "Rollback"].map((each) => `rds-data:${each}Transaction ${clusterOf(stack)}`);
const readingSecret = (secret: string) => `secretsmanager:GetSecretValue ${secret}`;
const onSecrets = (...actions: string[]) =>
  limitedRoles.flatMap((role) => actions.map((each) => `secretsmanager:${each} the ${role} secret`));
const images = (folder: string, ...actions: string[]) => actions.map((each) => `s3:${each} the bucket/${folder}/*`);

/** All that functions may do beyond writing their log and asking the database. */
const more: Readonly<Record<string, readonly string[]>> = {
  "ops-export": ["AbortMultipartUpload", "PutObject"].map((each) => `s3:${each} the transfers/exports/*`),
  "ops-import": ["s3:GetObject the transfers/imports/*"],
  "sign-in-callback": ["the key of attempts", "the client's secret"].map(readingSecret),
  "ops-migrate": onSecrets("GetSecretValue"),
  "ops-migrate-on-deploy": [...onSecrets("GetSecretValue"), "lambda:InvokeFunction itself"],
  "ops-rotate-password": onSecrets("GetSecretValue", "PutSecretValue", "UpdateSecretVersionStage"),
};

/** What `ops-release-on-deploy` may do with the versions of a stage's functions. */
const onVersions = (stage: string) => [
  ...["ListVersionsByFunction", "PublishVersion"].map((each) => `lambda:${each} function:colophon-${stage}-*`),
  ...endpoints
    .filter((each) => settings.stages.some((it) => it.name === stage && isServed(each, it)))
    .flatMap((each) =>
      ["DeleteFunction", "GetFunctionConfiguration", "InvokeFunction"].map(
        (action) => `lambda:${action} function:colophon-${stage}-${functionName(each)}:*`,
      ),
    ),
];

/** What has no use for the database, and what it may do instead. */
const without: Readonly<Record<string, readonly string[]>> = {
  "sign-in-begin": [readingSecret("the key of attempts")],
  "ops-smoke": [readingSecret("the door")],
  "ops-check-copy": [
    "rds-data:ExecuteStatement clusters of DATABASE",
    ...[
      "the secret",
      "the public secret",
      `${clusters.replace(/:rds:(.*)cluster:/, ":secretsmanager:$1secret:")}rds!cluster-*`,
    ].map((each) => `secretsmanager:GetSecretValue ${each}`),
  ],
  "ops-invalidate-images": [
    "cloudfront:CreateInvalidation the CDN",
    ...["DeleteMessage", "GetQueueAttributes", "ReceiveMessage"].map((each) => `sqs:${each} the queue`),
  ],
};

/** What reads records or lists, which may exceed a result, and what migrates. */
const mayTransact = (name: string) =>
  !/^admin-.*-(add|edit|delete|lock|logout|update-\w+|delete-\w+)$|^sign-|^ops-(create|end|invalidate|issue|link|tidy|remove|merge)/.test(
    name,
  );

/** And beyond that where there are uploads. */
const moreWithUploads: Readonly<Record<string, readonly string[]>> = {
  "admin-users-delete": images("profiles", "DeleteObject"),
  "admin-users-update-image": images("profiles", "DeleteObject", "PutObject"),
  "admin-users-delete-image": images("profiles", "DeleteObject"),
  "admin-contributors-delete": images("avatars", "DeleteObject"),
  "admin-contributors-update-avatar": images("avatars", "DeleteObject", "PutObject"),
  "admin-contributors-delete-avatar": images("avatars", "DeleteObject"),
  "ops-remove-images": [...images("avatars", "DeleteObject"), ...images("profiles", "DeleteObject")],
  "ops-undo": [
    "s3:ListBucketVersions the bucket",
    ...images("avatars", "GetObjectVersion", "PutObject"),
    ...images("profiles", "GetObjectVersion", "PutObject"),
  ],
};

/** And where there is an edge. */
const notification = "lambda:InvokeFunction function:";
const moreWithEdge: Readonly<Record<string, (stage: string) => string>> = {
  ...Object.fromEntries(
    [
      ...["add", "edit", "delete", "update-avatar", "delete-avatar"].map((each) => `admin-contributors-${each}`),
      "ops-import",
      "ops-merge-contributors",
      "ops-undo",
    ].map((each) => [each, (stage) => `${notification}colophon-${stage}-ops-invalidate`]),
  ),
  "ops-invalidate": () => "cloudfront:CreateInvalidation the edge",
};

/** The stages with an edge by their stacks, and by those of their databases. */
const edgeStages = new Map(
  settings.stages
    .filter(({ edge }) => edge)
    .flatMap(({ name, database }) => [`colophon-${name}`, `colophon-${database}-database`].map((each) => [each, name])),
);
const uploadStacks = new Set(settings.stages.flatMap(({ name, uploads }) => (uploads ? `colophon-${name}` : [])));

describe.each(stacks)("Of the stack %s", (stack) => {
  let template: Template;
  let functions: Map<string, Resource>;

  beforeAll(() => {
    template = synthesis.template(stack);
    const prefix = `${stack.replace(/-database$/, "")}-`;
    functions = new Map(
      template.all("Lambda::Function").map((each) => [each.Properties.FunctionName.replace(prefix, ""), each]),
    );
  });

  it("no policy names everything, or every action of a service", () => {
    const documents = [
      ...template.all("IAM::Policy").map(({ Properties }) => Properties.PolicyDocument),
      ...template.all("IAM::Role").flatMap(({ Properties }) => {
        return (Properties.Policies ?? []).map((each: Properties) => each.PolicyDocument);
      }),
    ];
    for (const { action, resource } of documents.flatMap(rightsIn)) {
      expect(resource.replace(/:function:colophon-[a-z-]+:\*$/, ":all-versions")).not.toMatch(/^\*|:\*$/);
      expect(action).not.toContain("*");
    }
  });

  it("each function may do what it does, and nothing else", () => {
    const hasUploads = uploadStacks.has(stack);
    const edgeStage = edgeStages.get(stack);
    for (const [name, lambda] of functions) {
      const itsOwn = [
        ...(mayTransact(name) ? transactionsOf(stack) : []),
        ...(more[name] ?? []),
        ...((hasUploads && moreWithUploads[name]) || []),
        ...[moreWithEdge[name]].flatMap((toRight) => (edgeStage && toRight ? toRight(edgeStage) : [])),
      ];
      const releasing = name === "ops-release-on-deploy" ? onVersions(stack.replace("colophon-", "")) : undefined;
      const [, database = ""] = stack.split("-");
      const instead = without[name]?.map((each) => each.replace("DATABASE", database));
      const all = [...log, ...(releasing ?? instead ?? [...databaseOf(stack), ...itsOwn])];
      expect([name, ...rightsOf(template, lambda)]).toEqual([name, ...all.sort()]);
    }
  });

  it("each function has a role of its own, which only Lambda takes on", () => {
    const roles = [...functions.values()].map(({ Properties }) => template.find(Properties.Role));
    expect(new Set(roles).size).toBe(functions.size);
    for (const { Properties } of roles) {
      expect(Properties.AssumeRolePolicyDocument.Statement).toEqual([
        { Action: "sts:AssumeRole", Effect: "Allow", Principal: { Service: "lambda.amazonaws.com" } },
      ]);
    }
  });

  it("each function gets the variables that it reads, and no others", () => {
    // Without a bucket the deletion of a record leaves its image to the stage that has one.
    const ours = uploadStacks.has(stack)
      ? /^(API_URL|DATABASE_\w+|ALLOWED_ORIGINS|FUNCTION_PREFIX|IMAGE_\w+|SIGN_IN_\w+(?<!_DOMAIN)|TRANSFER_BUCKET)$/
      : /^(API_URL|DATABASE_\w+|ALLOWED_ORIGINS|FUNCTION_PREFIX|IMAGE_BASE_URL|TRANSFER_BUCKET)$/;
    for (const [name, { Properties }] of functions) {
      const read = [...(synthesis.functions.find((each) => each.name === name)?.variables ?? [])];
      const { NODE_OPTIONS: _, ...variables } = Properties.Environment.Variables;
      // The secret has the address of an API behind an edge.
      const needed = read.filter((each) => ours.test(each) && !(each === "API_URL" && "API_DOOR_ARN" in variables));
      expect([name, ...read]).toEqual(expect.arrayContaining(Object.keys(variables)));
      expect([name, ...Object.keys(variables)]).toEqual(expect.arrayContaining(needed));
      expect(Object.keys(variables).length).toBeGreaterThan(0);
    }
  });
});

describe("The secret of a function", () => {
  const roleOf = new Map<string, LimitedRole>([
    ...endpoints.map((each): [string, LimitedRole] => [
      functionName(each),
      isPublic(each) ? "public" : each.method === "GET" ? "reader" : "editor",
    ]),
    ["sign-in-callback", "signer"],
  ]);

  it.each(settings.stages)("of stage $name is that of its role", ({ name, database }) => {
    const template = synthesis.template(`colophon-${name}`);
    for (const { Properties } of template.all("Lambda::Function")) {
      const given = Properties.Environment.Variables.DATABASE_SECRET_ARN?.Ref;
      if (!given) continue;
      const role = roleOf.get(Properties.FunctionName.replace(`colophon-${name}-`, "")) ?? "operator";
      expect([Properties.FunctionName, template.Parameters[given].Default]).toEqual([
        Properties.FunctionName,
        `/colophon/${database}/${role}-secret-arn`,
      ]);
    }
  });

  it.each(settings.databases)("of database $name is the master's only where tables and roles are made", ({ name }) => {
    const template = synthesis.template(`colophon-${name}-database`);
    const masters = template.all("Lambda::Function").filter(({ Properties }) => {
      return templateText(Properties.Environment.Variables.DATABASE_SECRET_ARN).includes("MasterUserSecret");
    });
    expect(masters.map(({ Properties }) => Properties.FunctionName).sort()).toEqual(
      ["ops-migrate", "ops-migrate-on-deploy", "ops-rotate-password"].map((each) => `colophon-${name}-${each}`),
    );
  });
});
