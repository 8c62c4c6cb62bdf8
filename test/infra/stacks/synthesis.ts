import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { deserialize, serialize } from "node:v8";
import { beforeAll, inject, vi } from "vitest";
import { copyBuild } from "../../../infra/build/cached-build.ts";
import { type Packaged, packageFunctions } from "../../../infra/build/package.ts";
import type { Settings } from "../../../infra/settings/schema.ts";
import { makeApp } from "../../../infra/stacks/app.ts";
import { settings } from "../../../infra/stages.ts";

// biome-ignore lint/suspicious/noExplicitAny: templates are looked into at every depth
export type Properties = Readonly<Record<string, any>>;

export interface Resource {
  readonly id: string;
  readonly Type: string;
  readonly Properties: Properties;
  readonly DependsOn?: readonly string[];
  readonly UpdatePolicy?: Properties;
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
}

/** A CloudFormation template, as far as tests look into it. */
export interface Template {
  readonly text: string;
  readonly Parameters: Properties;
  readonly Rules?: Properties;
  readonly Outputs: Properties;
  readonly resources: readonly Resource[];
  /** Those of a type: `Lambda::Function`. */
  all(type: string): readonly Resource[];
  /** The only one of a type. */
  one(type: string): Resource;
  /** What a reference points at. */
  find(reference: unknown): Resource;
}

export interface Synthesis {
  /** The cloud assembly. */
  readonly directory: string;
  template(stack: string): Template;
  remove(): Promise<void>;
}

/** The names of the stacks that the settings make. */
export const stacks: readonly string[] = [
  "colophon-account",
  ...settings.databases.flatMap(({ name, backupRegion }) => [
    `colophon-${name}-database`,
    ...(backupRegion ? [`colophon-${name}-backup`] : []),
  ]),
  ...settings.stages.flatMap(({ name, edge, uploads, imageBackupRegion, firewall }) => [
    `colophon-${name}`,
    ...(imageBackupRegion ? [`colophon-${name}-image-backup`] : []),
    ...(firewall && (edge || uploads) ? [`colophon-${name}-${settings.account.region}-firewall`] : []),
    ...(edge || uploads ? [`colophon-${name}-${settings.account.region}-cdn-alarms`] : []),
  ]),
];

/** What `npm run synth` gives, for a whole test file or describe block; it is there in hooks and tests. */
export function useSynthesis(): Pick<Synthesis, "directory" | "template"> & {
  readonly functions: readonly Packaged[];
} {
  const directory = join(inject("cache"), "synthesis");
  let functions: readonly Packaged[];
  let templates: Synthesis["template"];

  beforeAll(async () => {
    functions = await onceInARun(directory, () => synthesizeAll(directory));
    templates = await readTemplates(directory);
  });

  return {
    directory,
    get functions() {
      return functions;
    },
    template: (stack) => templates(stack),
  };
}

/** Test files run side by side, and the first to come makes what all of them look at. */
async function onceInARun<Made>(name: string, make: () => Promise<Made>): Promise<Made> {
  const file = `${name}.made`;
  const isFirst = await mkdir(`${name}.begun`).then(
    () => true,
    () => false,
  );
  if (isFirst) {
    await writeFile(`${file}.draft`, serialize(await make()));
    await rename(`${file}.draft`, file);
  }
  return deserialize(
    await vi.waitUntil(() => readFile(file).catch(() => undefined), { timeout: 110_000, interval: 200 }),
  );
}

async function synthesizeAll(directory: string): Promise<readonly Packaged[]> {
  const outdir = join(inject("cache"), "artifacts");
  const functions = await packageFunctions(await copyBuild(outdir));
  makeApp(settings, functions, directory).synth();
  return functions;
}

/** The same functions in another directory, where a test may change them. */
export async function copyOf(
  functions: readonly Packaged[],
): Promise<{ functions: Packaged[]; remove(): Promise<void> }> {
  const outdir = await mkdtemp(join(inject("cache"), "artifacts-"));
  const copy = async (packaged: Packaged): Promise<Packaged> => {
    const file = join(outdir, packaged.endpointPath, basename(packaged.file));
    await cp(dirname(packaged.file), dirname(file), { recursive: true });
    return { ...packaged, file };
  };
  return {
    functions: await Promise.all(functions.map(copy)),
    remove: () => rm(outdir, { recursive: true }),
  };
}

/** Synthesises as `npm run synth` does, cdk-nag included. */
export async function synthesize(functions: readonly Packaged[], given: Settings = settings): Promise<Synthesis> {
  const directory = await mkdtemp(join(import.meta.dirname, "../../../node_modules/.cache/colophon-synth-"));
  makeApp(given, functions, directory).synth();
  return { directory, template: await readTemplates(directory), remove: () => rm(directory, { recursive: true }) };
}

async function readTemplates(directory: string): Promise<Synthesis["template"]> {
  const files = (await readdir(directory)).filter((file) => file.endsWith(".template.json"));
  const texts = await Promise.all(files.map((file) => readFile(join(directory, file), "utf8")));
  const templates = new Map(texts.map((text, index) => [files[index]?.replace(".template.json", ""), parse(text)]));
  return (stack) => templates.get(stack) ?? fail(`There is no stack ${stack}`);
}

/** A template, by its text. */
export function parse(text: string): Template {
  const { Resources, Parameters, Rules, Outputs } = JSON.parse(text);
  const resources = Object.entries<Omit<Resource, "id">>(Resources).map(([id, each]) => ({ id, ...each }));
  const all = (type: string) => resources.filter(({ Type }) => Type === `AWS::${type}`);
  return {
    text,
    Parameters,
    Rules,
    Outputs,
    resources,
    all,
    one: (type) => {
      const [found, ...others] = all(type);
      return found && others.length === 0 ? found : fail(`${others.length + (found ? 1 : 0)} of ${type}`);
    },
    find: (reference) => {
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

/** What the cloud assembly says of its stacks. */
export const manifestOf = async ({ directory }: Pick<Synthesis, "directory">): Promise<Properties> =>
  JSON.parse(await readFile(join(directory, "manifest.json"), "utf8"));
