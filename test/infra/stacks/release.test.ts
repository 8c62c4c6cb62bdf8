import { mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { App } from "aws-cdk-lib";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { isServed } from "../../../infra/api/document.ts";
import type { StageSettings } from "../../../infra/settings/schema.ts";
import { ApiStack } from "../../../infra/stacks/api-stack.ts";
import { settings } from "../../../infra/stages.ts";
import { functionName } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { parse, type Template, useSynthesis } from "./synthesis.ts";

const synthesis = useSynthesis();
const prod = settings.stages.find(({ name }) => name === "prod");

describe.each(settings.stages)("A release of stage $name", (stage) => {
  const served = endpoints.filter((each) => isServed(each, stage));
  let template: Template;

  beforeAll(() => {
    template = synthesis.template(`colophon-${stage.name}`);
  });

  it("moves all aliases after one resource, which has every function published and tried", () => {
    const release = releaseOf(template);
    const publisher = template.find(release.Properties.ServiceToken);

    expect(publisher.Properties).toMatchObject({
      FunctionName: `colophon-${stage.name}-ops-release-on-deploy`,
      Environment: { Variables: { FUNCTION_PREFIX: `colophon-${stage.name}-` } },
    });
    expect(Number(release.Properties.ServiceTimeout)).toBe(publisher.Properties.Timeout);
    const functions = release.Properties.Functions.map((each: object) => template.find(each).Properties.FunctionName);
    expect(functions).toEqual(served.map((each) => `colophon-${stage.name}-${functionName(each)}`));
    expect(
      template.all("Lambda::Alias").map(({ Properties }) => [Properties.Name, Properties.FunctionVersion]),
    ).toEqual(served.map((each) => ["live", { "Fn::GetAtt": [release.id, functionName(each)] }]));
  });

  it("is named by every alias, so that each deployment of another one sets it, and by every version", () => {
    const names = [
      ...template.all("Lambda::Alias").map(({ Properties }) => Properties.Description),
      ...descriptionsOf(template).flatMap(
        (each) => / \((release [0-9a-f]{12}, migration \d+)\)$/.exec(each)?.[1] ?? [],
      ),
    ];

    expect(names).toHaveLength(2 * served.length);
    expect(new Set(names).size).toBe(1);
    expect(names[0]).toContain(releaseOf(template).Properties.Release);
  });
});

describe("A release", () => {
  it("has another name if one function has other settings, and the same if no version has", async () => {
    const nameOf = (template: Template) => releaseOf(template).Properties.Release;
    const usual = nameOf(await synthesizeStage({}));

    expect(nameOf(await synthesizeStage({ streams: { concurrent: 25, secondsMax: 121 } }))).not.toBe(usual);
    // Reserved concurrency is no part of a version.
    expect(nameOf(await synthesizeStage({ publicRecords: { concurrent: 41 } }))).toBe(usual);
  });
});

/** Synthesises prod's stack alone, without cdk-nag. */
async function synthesizeStage(changes: Partial<StageSettings>): Promise<Template> {
  if (!prod) throw new Error("There is no stage prod");
  const outdir = await mkdtemp(join(inject("cache"), "release-"));
  const features = { "@aws-cdk/core:suppressTemplateIndentation": true };
  const app = new App({ outdir, analyticsReporting: false, treeMetadata: false, context: features });
  new ApiStack(app, "colophon-prod", { settings: { ...prod, ...changes }, endpoints, packages: synthesis.functions });
  app.synth();
  const text = await readFile(join(outdir, "colophon-prod.template.json"), "utf8");
  await rm(outdir, { recursive: true });
  return parse(text);
}

function releaseOf({ resources }: Template) {
  const [release, ...others] = resources.filter(({ Type }) => Type === "Custom::Release");
  if (!release || others.length > 0) throw new Error("There is not one release");
  return release;
}

const descriptionsOf = (template: Template): string[] =>
  template.all("Lambda::Function").map(({ Properties }) => Properties.Description);
