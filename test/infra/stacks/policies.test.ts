import { describe, expect, it } from "vitest";
import { bundleOf, wholeLists } from "../../../infra/api/whole-lists.ts";
import { limitedRoles } from "../../../infra/build/database-role.ts";
import { settings } from "../../../infra/settings/settings.ts";
import { functionName, isPublic } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { functions, type Properties, stacks, synthesis, type Template, templateText } from "./synthesis.ts";

/** Every action that policies of a role allow, with every resource, in words. */
function rightsOf(role: Properties, words: readonly (readonly [text: string, word: string])[]) {
  expect(role.ManagedPolicyArns ?? []).toEqual([]);
  const statements = role.Policies.flatMap(({ PolicyDocument }: Properties) => PolicyDocument.Statement);
  return statements.flatMap(({ Effect, Action, Resource, Condition: _, ...rest }: Properties): string[] => {
    expect([Effect, rest]).toEqual(["Allow", {}]);
    const resources = [Resource].flat().map((each) => {
      const text = words.reduce((before, [name, word]) => before.replace(name, word), templateText(each));
      return text.replace(/^arn:.*?:\d+:/, "");
    });
    return [Action].flat().flatMap((action) => resources.map((each) => `${action} ${each}`));
  });
}

/** What the environment variables of a function name, or those of others of buckets, and its log and queue. */
function wordsOf(template: Template, { Environment, LoggingConfig }: Properties): [string, string][] {
  const buckets = template
    .each("Lambda::Function")
    .flatMap((each) => Object.entries<unknown>(each.Environment.Variables).filter(([name]) => /_BUCKET$/.test(name)));
  const named = [...Object.entries<unknown>(Environment.Variables), ...buckets];
  const variables = named.flatMap(([name, value]): [string, string][] => {
    const text = templateText(value);
    // Functions get the names of buckets, and policies have their ARNs.
    return /\$\{|^arn:/.test(text)
      ? [
          [text.replace("}", ".Arn}"), name],
          [text, name],
        ]
      : [];
  });
  const queues = template.all("SQS::Queue").map(({ id }): [string, string] => [`\${${id}.Arn}`, "queue"]);
  return [[`\${${LoggingConfig.LogGroup.Ref}.Arn}`, "log"], ...variables, ...queues];
}

const readSecret = (...names: readonly string[]) => names.map((each) => `secretsmanager:GetSecretValue ${each}`);
const onSecrets = (...actions: string[]) =>
  limitedRoles.flatMap((role) =>
    actions.map((each) => `secretsmanager:${each} DATABASE_${role.toUpperCase()}_SECRET_ARN`),
  );
const onImages = (folder: string, ...actions: string[]) => actions.map((each) => `s3:${each} IMAGE_BUCKET/${folder}/*`);

/** All that functions may do beyond writing their log and asking the database; images only where there are uploads. */
const more: Readonly<Record<string, readonly string[]>> = {
  "ops-export": ["AbortMultipartUpload", "PutObject"].map((each) => `s3:${each} TRANSFER_BUCKET/exports/*`),
  "ops-import": ["s3:GetObject TRANSFER_BUCKET/imports/*"],
  "sign-in-callback": readSecret("SIGN_IN_KEY_ARN", "SIGN_IN_CLIENT_SECRET_ARN"),
  "ops-migrate": onSecrets("GetSecretValue"),
  "ops-rotate-password": onSecrets("GetSecretValue", "PutSecretValue", "UpdateSecretVersionStage"),
  "ops-invalidate": ["cloudfront:CreateInvalidation distribution/API_DISTRIBUTION"],
  "admin-users-delete": onImages("profiles", "DeleteObject"),
  "admin-users-update-image": onImages("profiles", "DeleteObject", "PutObject"),
  "admin-users-delete-image": onImages("profiles", "DeleteObject"),
  "admin-contributors-delete": onImages("avatars", "DeleteObject"),
  "admin-contributors-update-avatar": onImages("avatars", "DeleteObject", "PutObject"),
  "admin-contributors-delete-avatar": onImages("avatars", "DeleteObject"),
  "ops-remove-images": [...onImages("avatars", "DeleteObject"), ...onImages("profiles", "DeleteObject")],
  "ops-undo": [
    "s3:ListBucketVersions IMAGE_BUCKET",
    ...onImages("avatars", "GetObjectVersion", "PutObject"),
    ...onImages("profiles", "GetObjectVersion", "PutObject"),
  ],
};

/** What changes what the public reads. */
const notifying =
  /^admin-contributors-(add|edit|delete|(update|delete)-avatar)$|^ops-(import|merge-contributors|undo)$/;

const declarationOf = (name: string) =>
  [...endpoints, ...wholeLists(endpoints)].find((each) => functionName(each) === name);

/** What reads records or lists, which may exceed a result, and what migrates. */
function mayTransact(name: string): boolean {
  const response = declarationOf(name)?.response;
  if (response) return "record" in response || "list" in response;
  return /^ops-(export|import|list-changes|merge-contributors|undo|migrate|migrate-on-deploy|rotate-password)$/.test(
    name,
  );
}

/** What has no use for the database, or another one, and may do this instead. */
const instead = (owner: string): Readonly<Record<string, readonly string[]>> => ({
  "sign-in-begin": readSecret("SIGN_IN_KEY_ARN"),
  "ops-smoke": readSecret("API_DOOR_ARN"),
  "ops-check-copy": [
    `rds-data:ExecuteStatement cluster:colophon-${owner}-database*`,
    ...readSecret("DATABASE_SECRET_ARN", "secret:rds!cluster-*"),
  ],
  "ops-invalidate-images": [
    "cloudfront:CreateInvalidation distribution/IMAGE_DISTRIBUTION",
    ...["DeleteMessage", "GetQueueAttributes", "ReceiveMessage"].map((each) => `sqs:${each} queue`),
  ],
  "ops-release-on-deploy": [
    ...["ListVersionsByFunction", "PublishVersion"].map((each) => `lambda:${each} function:colophon-${owner}-*`),
    ...["DeleteFunction", "GetFunctionConfiguration", "InvokeFunction"].map(
      (each) => `lambda:${each} function:colophon-${owner}-*:*`,
    ),
  ],
});

/** The role as which a function logs in to the database. */
function roleOf(name: string): string {
  if (/^ops-(migrate|migrate-on-deploy|rotate-password)$/.test(name)) return "master";
  const declaration = declarationOf(name);
  if (!declaration) return "operator";
  if (name === "sign-in-callback") return "signer";
  if (isPublic(declaration)) return "public";
  return declaration.method === "GET" ? "reader" : "editor";
}

/** The role whose secret this is: a parameter of a stage, or a resource of its database. */
const roleOfSecret = ({ Parameters }: Template, secret: Properties): string =>
  /\/(\w+)-secret-arn$/.exec(Parameters[secret.Ref]?.Default ?? "")?.[1] ??
  /(master|public|reader|editor|operator|signer)(User)?Secret/i.exec(templateText(secret))?.[1]?.toLowerCase() ??
  "none";

const withFunctions = stacks.filter((each) => synthesis.template(each).all("Lambda::Function").length > 0);

describe.each(withFunctions)("Of the stack %s", (stack) => {
  const template = synthesis.template(stack);
  const [, owner = ""] = stack.split("-");
  const stage = settings.stages.find(({ name }) => stack === `colophon-${name}`);
  const edge = settings.stages.find((each) => each.edge && (stage ? each === stage : each.database === owner));
  // A stage also has the clusters whose place a restored one takes.
  const cluster = stage ? `cluster:colophon-${stage.database}-database*` : "DATABASE_CLUSTER_ARN";
  const lambdas = template.all("Lambda::Function").map(({ Properties }) => Properties);
  const nameOf = ({ FunctionName }: Properties): string => FunctionName.replace(`colophon-${owner}-`, "");

  it("each function may do what it does, and nothing else", () => {
    const roles = lambdas.map(({ Role }) => template.find(Role));
    const attached = template.each("IAM::Policy").flatMap(({ Roles }) => Roles.map(({ Ref }: Properties) => Ref));
    for (const [index, lambda] of lambdas.entries()) {
      const name = nameOf(lambda);
      const actions = ["Execute", ...(mayTransact(name) ? ["Begin", "Commit", "Rollback"] : [])];
      const usual = [
        ...actions.map((each) => `rds-data:${each}${each === "Execute" ? "Statement" : "Transaction"} ${cluster}`),
        ...readSecret("DATABASE_SECRET_ARN"),
        ...(more[name] ?? []).filter((each) => stage?.uploads || !each.includes("IMAGE_BUCKET")),
        ...(name === "ops-migrate-on-deploy" ? onSecrets("GetSecretValue") : []),
        ...(edge && notifying.test(name)
          ? [`lambda:InvokeFunction function:colophon-${edge.name}-ops-invalidate:live`]
          : []),
      ];
      const log = ["logs:CreateLogStream log", "logs:PutLogEvents log"];
      const rights = rightsOf(roles[index]?.Properties ?? {}, wordsOf(template, lambda));

      const expected = [...log, ...(instead(owner)[name] ?? usual)];
      expect([name, ...rights.sort()]).toEqual([name, ...expected.sort()]);
      expect(roles[index]?.Properties.AssumeRolePolicyDocument.Statement).toEqual([
        { Action: "sts:AssumeRole", Effect: "Allow", Principal: { Service: "lambda.amazonaws.com" } },
      ]);
    }
    expect(roles.filter(({ id }) => attached.includes(id))).toEqual([]);
  });

  it("each function gets the variables that it reads, and no others, and logs in as its own role", () => {
    // Without a bucket the deletion of a record leaves its image to the stage that has one.
    const ours = stage?.uploads
      ? /^(API_URL|DATABASE_\w+|ALLOWED_ORIGINS|FUNCTION_PREFIX|IMAGE_\w+|SIGN_IN_\w+(?<!_DOMAIN)|TRANSFER_BUCKET)$/
      : /^(API_URL|DATABASE_\w+|ALLOWED_ORIGINS|FUNCTION_PREFIX|IMAGE_BASE_URL|TRANSFER_BUCKET)$/;
    for (const lambda of lambdas) {
      const name = nameOf(lambda);
      const read = [...(functions.find((each) => each.name === bundleOf(name))?.variables ?? [])];
      const variables: Properties = lambda.Environment?.Variables ?? {};
      // The secret has the address of an API behind an edge.
      const needed = read.filter((each) => ours.test(each) && !(each === "API_URL" && "API_DOOR_ARN" in variables));
      expect([name, ...read]).toEqual(expect.arrayContaining(Object.keys(variables)));
      expect([name, ...Object.keys(variables)]).toEqual(expect.arrayContaining(needed));
      const { DATABASE_SECRET_ARN: secret, INVALIDATE_FUNCTION: notified } = variables;
      const invalidating = edge && notifying.test(name) ? `colophon-${edge.name}-ops-invalidate:live` : undefined;
      expect([name, notified]).toEqual([name, invalidating]);
      if (secret) expect([name, roleOfSecret(template, secret)]).toEqual([name, roleOf(name)]);
    }
  });
});

it("No other role has rights of ours but API Gateway's, which other tests look at", () => {
  const roles = stacks.flatMap((each) => synthesis.template(each).all("IAM::Role"));
  const others = roles.filter(
    ({ Properties: { Policies, AssumeRolePolicyDocument } }) =>
      Policies && AssumeRolePolicyDocument.Statement[0].Principal.Service !== "lambda.amazonaws.com",
  );

  expect(others.map(({ id }) => id.slice(0, -8))).toEqual(settings.stages.map(() => "RestInvoker"));
});
