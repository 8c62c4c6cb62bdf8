import { mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { makeApp, type Shipment } from "../../../infra/app.ts";
import { packageFunctions } from "../../../infra/package.ts";
import { packageMigration } from "../../../infra/stacks/migration.ts";
import { type Settings, settings } from "../../../infra/stages.ts";

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

/** What `npm run synth` gives, for a whole test file or describe block; it is there in hooks and tests. */
export function useSynthesis(): Pick<Synthesis, "directory" | "template"> & { readonly shipment: Shipment } {
  let shipment: Awaited<ReturnType<typeof ship>>;
  let synthesis: Synthesis;

  beforeAll(async () => {
    shipment = await ship();
    synthesis = await synthesize(shipment);
  });

  afterAll(() => Promise.all([shipment.remove(), synthesis.remove()]));

  return {
    get directory() {
      return synthesis.directory;
    },
    get shipment() {
      return shipment;
    },
    template: (stack) => synthesis.template(stack),
  };
}

/** Packages beneath node_modules, where the test runner leaves files as they are. */
export async function ship(): Promise<Shipment & { remove(): Promise<void> }> {
  const outdir = await mkdtemp(join(import.meta.dirname, "../../../node_modules/.cache/colophon-ship-"));
  const functions = await packageFunctions({ outdir });
  const migration = await packageMigration({ outdir });
  return { functions, migration, remove: () => rm(outdir, { recursive: true }) };
}

/** Synthesises as `npm run synth` does, cdk-nag included. */
export async function synthesize(shipment: Shipment, given: Settings = settings): Promise<Synthesis> {
  const directory = await mkdtemp(join(import.meta.dirname, "../../../node_modules/.cache/colophon-synth-"));
  const { stacks } = makeApp(given, shipment, directory).synth();
  const texts = await Promise.all(
    stacks.map(async ({ stackName, templateFile }) => {
      return [stackName, await readFile(join(directory, templateFile), "utf8")] as const;
    }),
  );
  const templates = new Map(texts.map(([name, text]) => [name, parse(text)]));
  return {
    directory,
    template: (stack) => templates.get(stack) ?? fail(`There is no stack ${stack}`),
    remove: () => rm(directory, { recursive: true }),
  };
}

function parse(text: string): Template {
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
export function spell(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  const { Ref, "Fn::GetAtt": attribute, "Fn::Join": join, "Fn::Sub": sub } = value as Properties;
  if (Ref) return `\${${Ref}}`;
  if (attribute) return `\${${attribute.join(".")}}`;
  if (join) return join[1].map(spell).join(join[0]);
  return sub ?? JSON.stringify(value);
}
