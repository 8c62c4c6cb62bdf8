import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { deserialize, serialize } from "node:v8";
import { App, Stack } from "aws-cdk-lib";
import { inject, vi } from "vitest";
import { copyBuild } from "../../../infra/build/cached-build.ts";
import { type Packaged, packageFunctions } from "../../../infra/build/package.ts";
import { settings } from "../../../infra/settings/settings.ts";
import { type ApiProps, addApi } from "../../../infra/stacks/api-stack.ts";
import { makeApp } from "../../../infra/stacks/app.ts";
import { changed } from "./changed-settings.ts";

// biome-ignore lint/suspicious/noExplicitAny: templates are looked into at every depth
export type Properties = Readonly<Record<string, any>>;

export interface Resource {
  readonly id: string;
  readonly Type: string;
  readonly Properties: Properties;
  readonly DependsOn?: readonly string[];
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
}

/** A CloudFormation template, as far as tests look into it. */
export type Template = ReturnType<typeof parse>;

/** The templates in a folder of the run, which the first test file to come makes. */
async function synthesisIn(name: string, make: (directory: string) => Promise<void>) {
  const directory = join(inject("cache"), name);
  await onceInARun(directory, () => make(directory));
  const files = (await readdir(directory)).filter((file) => file.endsWith(".template.json"));
  const read = async (file: string) =>
    [file.replace(".template.json", ""), parse(await readFile(join(directory, file), "utf8"))] as const;
  const templates = new Map(await Promise.all(files.map(read)));
  const manifest: Properties = JSON.parse(await readFile(join(directory, "manifest.json"), "utf8"));
  const artifacts = Object.entries<Properties>(manifest.artifacts);
  const stacks = Object.fromEntries(artifacts.filter(([, { type }]) => type === "aws:cloudformation:stack"));
  return {
    /** The cloud assembly, and what it says of its stacks, by their names. */
    manifest,
    stacks,
    template: (stack: string): Template => templates.get(stack) ?? fail(`There is no stack ${stack}`),
  };
}

/** Test files run side by side, and the first to come makes what all of them look at, or fails for all of them. */
async function onceInARun<Made>(name: string, make: () => Promise<Made>): Promise<Made> {
  const file = `${name}.made`;
  const isFirst = await mkdir(`${name}.begun`).then(
    () => true,
    () => false,
  );
  if (isFirst) {
    const [result] = await Promise.allSettled([make()]);
    await writeFile(`${file}.draft`, serialize(result));
    await rename(`${file}.draft`, file);
  }
  const { value, reason } = deserialize(
    await vi.waitUntil(() => readFile(file).catch(() => undefined), { timeout: 300_000, interval: 200 }),
  );
  if (reason) throw reason;
  return value;
}

/** All functions, as they are uploaded. */
export const functions: readonly Packaged[] = await onceInARun(join(inject("cache"), "artifacts"), async () =>
  packageFunctions(await copyBuild(join(inject("cache"), "artifacts"))),
);

/** What `npm run synth` gives, without credentials, a region and a network. */
export const synthesis = await synthesisIn("synthesis", async (directory) => {
  const { PATH = "", NODE_COMPILE_CACHE = "", STAGES = "" } = process.env;
  const nowhere = { HTTPS_PROXY: "http://127.0.0.1:9", HTTP_PROXY: "http://127.0.0.1:9" };
  const env = { ...nowhere, PATH, NODE_COMPILE_CACHE, STAGES, CDK_OUTDIR: directory, AWS_EC2_METADATA_DISABLED: "1" };
  await promisify(execFile)("npm", ["run", "--silent", "synth"], { env });
});

/** The same for the settings of changed-settings.ts. */
export const changedSynthesis = () =>
  synthesisIn("changed-synthesis", async (directory) => void makeApp(changed, functions, directory).synth());

/** The names of the stacks that the settings make. */
export const stacks: readonly string[] = Object.keys(synthesis.stacks).sort();

/** The stack of the stage prod alone, with some properties changed, and without cdk-nag. */
export async function synthesizeProd(changes: Partial<ApiProps>): Promise<Template> {
  const outdir = await mkdtemp(join(inject("cache"), "prod-"));
  const app = new App({ outdir, analyticsReporting: false, treeMetadata: false });
  const stack = new Stack(app, "colophon-prod");
  addApi(stack, { settings: prod, packages: functions, ...changes });
  const { template } = app.synth().getStackArtifact(stack.artifactId);
  return parse(JSON.stringify(template));
}

export const prod = settings.stages.find(({ name }) => name === "prod") ?? fail("There is no stage prod");

/** A template, by its text. */
function parse(text: string) {
  const { Resources, Parameters, Conditions, Rules, Outputs = {} }: Properties = JSON.parse(text);
  const resources = Object.entries<Omit<Resource, "id">>(Resources).map(([id, each]): Resource => ({ id, ...each }));
  const all = (type: string) => resources.filter(({ Type }) => Type === `AWS::${type}` || Type === type);
  return {
    text,
    Parameters,
    Conditions,
    Rules,
    Outputs,
    resources,
    /** Those of a type: `Lambda::Function`. */
    all,
    /** The properties of those of a type. */
    each: (type: string) => all(type).map(({ Properties }) => Properties),
    /** The only one of a type. */
    one(type: string): Resource {
      const [found, ...others] = all(type);
      return found && others.length === 0 ? found : fail(`${others.length + (found ? 1 : 0)} of ${type}`);
    },
    /** The one of a type whose property has this value. */
    the: (type: string, property: string, value: string): Resource =>
      all(type).find(({ Properties }) => Properties[property] === value) ?? fail(`No ${type} is called ${value}`),
    /** What a reference points at. */
    find(reference: unknown): Resource {
      const { Ref, "Fn::GetAtt": attribute } = reference as Properties;
      const id = Ref ?? attribute?.[0];
      return resources.find((each) => each.id === id) ?? fail(`Nothing is called ${JSON.stringify(reference)}`);
    },
  };
}

function fail(message: string): never {
  throw new Error(message);
}

/** A value of a template in words, such as an ARN; references become `${id}` or `${id.Attribute}`. */
export function templateText(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  const { Ref, "Fn::GetAtt": attribute, "Fn::Join": join, "Fn::Sub": sub } = value as Properties;
  if (Ref) return `\${${Ref}}`;
  if (attribute) return `\${${attribute.join(".")}}`;
  if (join) return join[1].map(templateText).join(join[0]);
  return sub ?? JSON.stringify(value);
}
