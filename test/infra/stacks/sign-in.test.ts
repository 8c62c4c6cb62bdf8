import { beforeAll, describe, expect, it } from "vitest";
import type { Settings } from "../../../infra/settings/schema.ts";
import { settings } from "../../../infra/stages.ts";
import { functionName } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { type Properties, synthesize, type Template, templateText, useSynthesis } from "./synthesis.ts";

const synthesis = useSynthesis();

const names = endpoints.filter(({ needsSignIn }) => needsSignIn).map(functionName);
const stages: Settings["stages"] = settings.stages;
const [prod] = stages.filter(({ signIn }) => signIn) as [Settings["stages"][number]];

const variablesIn = (template: Template, name: string): Properties | undefined =>
  template.all("Lambda::Function").find(({ Properties }) => Properties.FunctionName.endsWith(`-${name}`))?.Properties
    .Environment.Variables;

describe("A stage with sign-in", () => {
  let template: Template;
  let key: string;
  /** The edge has others. */
  const secretOfSignIn = () => template.all("SecretsManager::Secret").filter(({ id }) => id.startsWith("SignIn"));

  beforeAll(() => {
    template = synthesis.template(`colophon-${prod.name}`);
    key = secretOfSignIn()[0]?.id ?? "";
  });

  it("has a key of its own for attempts, which nobody has seen and which no other stage has", () => {
    const [secret, ...others] = secretOfSignIn();

    expect(others).toEqual([]);
    expect(secret?.Properties.GenerateSecretString).toEqual({ PasswordLength: 64, ExcludePunctuation: true });
    expect(secret?.DeletionPolicy).toBe("Delete");
  });

  it("lets the callback alone read the client's secret, and only what signs read the key", () => {
    const readers = (secret: string) =>
      template
        .all("IAM::Role")
        .filter(({ Properties }) =>
          Properties.Policies?.some(({ PolicyDocument }: Properties) =>
            PolicyDocument.Statement.some(({ Resource }: Properties) =>
              [Resource].flat().map(templateText).includes(secret),
            ),
          ),
        )
        .map(({ id }) => template.all("Lambda::Function").find((each) => each.Properties.Role["Fn::GetAtt"][0] === id))
        .map((lambda) => lambda?.Properties.FunctionName.replace(`colophon-${prod.name}-`, ""))
        .sort();

    expect(readers(`\${${key}}`)).toEqual(["sign-in-begin", "sign-in-callback"]);
    expect(readers(prod.signIn?.clientSecretArn ?? "")).toEqual(["sign-in-callback"]);
    expect(readers(templateText({ Ref: "SignerSecretArn" }))).toEqual(["sign-in-callback"]);
    expect(template.text.split(prod.signIn?.clientSecretArn ?? "")).toHaveLength(3);
  });
});

describe("A stage without sign-in", () => {
  const without = stages.filter(({ signIn }) => !signIn);

  it.each(without)("has no function for it, no secret, no alarm: $name", ({ name }) => {
    const template = synthesis.template(`colophon-${name}`);

    for (const each of names) expect(variablesIn(template, each)).toBeUndefined();
    expect(template.all("SecretsManager::Secret")).toEqual([]);
    expect(template.text).not.toMatch(/SIGN_IN|SignerSecret|\$\.signIn/);
  });
});

describe("A stage with sign-in and without an edge", () => {
  it("takes the address from the request, and the cookie's domain from the settings", { timeout: 90_000 }, async () => {
    const { edge: _, firewall: __, ...direct } = prod;
    const { cookieDomain, sameSite } = { cookieDomain: "example.com", sameSite: "none" } as const;
    const stage = { ...direct, ...(prod.signIn && { signIn: { ...prod.signIn, cookieDomain, sameSite } }) };
    const { template, remove } = await synthesize(synthesis.functions, { ...settings, stages: [stage] });
    const made = template(`colophon-${prod.name}`);
    await remove();

    for (const each of names) expect(variablesIn(made, each)).not.toHaveProperty("SIGN_IN_API_ADDRESS");
    for (const each of ["sign-in-callback", "sign-out"]) {
      expect(variablesIn(made, each)).toMatchObject({
        SIGN_IN_COOKIE_DOMAIN: cookieDomain,
        SIGN_IN_SAME_SITE: sameSite,
      });
    }
  });
});
