import { describe, expect, it } from "vitest";
import { settingsSchema } from "../../../infra/settings/settings.ts";
import { settings } from "../../../infra/stages.ts";

/* The setting `signIn` of a stage. */

const arn = (region: string, account: string) => `arn:aws:secretsmanager:${region}:${account}:secret:client-AbCdEf`;
const own = arn(settings.account.region, settings.account.id);
const panel = "https://admin.example.com";
const signIn = {
  issuer: "https://accounts.example.com/tenant",
  clientId: "colophon",
  clientSecretArn: own,
  panel,
  sessionDays: 30,
};

/** What is wrong with prod, whose panel is admin.example.com and whose API is api.example.com. */
const issuesWith = (changes: object, stage: object = {}) =>
  settingsSchema
    .safeParse({
      ...settings,
      stages: settings.stages.map((each) =>
        each.name === "prod" ? { ...each, ...stage, signIn: { ...signIn, ...changes } } : each,
      ),
    })
    .error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);

const withoutDomain = { edge: undefined, smoke: undefined };

describe("The setting signIn", () => {
  it.each([
    ["a page of the panel", { panel: `${panel}/start` }],
    ["an issuer with a slash at its end", { issuer: "https://tenant.auth0.com/" }],
    ["a cookie that other sites never send", { sameSite: "strict" }],
    ["the parent of the API's domain", { cookieDomain: "example.com" }],
    ["the API's domain", { cookieDomain: "api.example.com" }],
  ])("may be %s", (_, changes) => {
    expect(issuesWith(changes)).toBeUndefined();
  });

  it("may be none for a panel on another site than the API", () => {
    expect(issuesWith({ sameSite: "none" }, withoutDomain)).toBeUndefined();
  });

  it("is lax by default", () => {
    const stages = settings.stages.map((each) => ({ ...each, signIn: each.name === "prod" ? signIn : undefined }));

    expect(settingsSchema.parse({ ...settings, stages }).stages[1]?.signIn?.sameSite).toBe("lax");
  });

  it.each<[string, object, string]>([
    ["an issuer without https", { issuer: "http://accounts.example.com" }, "issuer: "],
    [
      "an issuer with a query",
      { issuer: "https://accounts.example.com?tenant=1" },
      "issuer: an https URL without user",
    ],
    ["an issuer that is none", { issuer: "accounts.example.com" }, "issuer: "],
    ["no client", { clientId: "" }, "clientId: "],
    ["the secret itself", { clientSecretArn: "s3cret" }, "clientSecretArn: a secret's whole ARN in Secrets Manager"],
    [
      "an ARN without its last six characters, which would be no right to the secret",
      { clientSecretArn: own.slice(0, -7) },
      "clientSecretArn: a secret's whole ARN",
    ],
    ["functions that may never run", { concurrent: 0 }, "concurrent: "],
    [
      "a secret of another account",
      { clientSecretArn: arn("eu-central-1", "999999999999") },
      "clientSecretArn: a secret of account 999999999999 in eu-central-1",
    ],
    [
      "a secret of another region",
      { clientSecretArn: arn("us-east-1", settings.account.id) },
      "clientSecretArn: a secret of account 123456789012 in us-east-1",
    ],
    [
      "a panel that may not call the API",
      { panel: "https://other.example.com" },
      "panel: its origin is none of allowedOrigins",
    ],
    ["a panel without https", { panel: "http://admin.example.com" }, "panel: "],
    ["a panel with a fragment", { panel: `${panel}/#/users` }, "panel: an https URL without user"],
    ["a session without a day", { sessionDays: 0 }, "sessionDays: "],
    ["a session of more than a year", { sessionDays: 366 }, "sessionDays: "],
    ["another sameSite", { sameSite: "Lax" }, "sameSite: "],
    ["none on one site", { sameSite: "none" }, "sameSite: panel and API are on one site"],
    [
      "a foreign domain of the cookie",
      { cookieDomain: "example.org" },
      "cookieDomain: the API's domain, api.example.com, is not within it",
    ],
    [
      "half a name as domain of the cookie",
      { cookieDomain: "ple.com" },
      "cookieDomain: the API's domain, api.example.com",
    ],
    ["an unknown word", { scopes: ["openid"] }, ": Unrecognized key"],
  ])("is refused with %s", (_, changes, issue) => {
    expect(issuesWith(changes)?.join("\n")).toContain(`stages.1.signIn${issue.startsWith(":") ? "" : "."}${issue}`);
  });

  it.each([
    ["api.example.co.uk", "example.co.uk", "example.co.uk"],
    ["api.example.co.uk", "other.co.uk", undefined],
    ["api.pages.github.io", "pages.github.io", "pages.github.io"],
    ["one.github.io", "two.github.io", undefined],
  ])("knows whether %s and admin.%s are one site, where more than two parts make it", (api, other, site) => {
    const panel = `https://admin.${other}`;
    const edge = { ...settings.stages[1]?.edge, domain: api };
    const issues = (changes: object) => issuesWith({ panel, ...changes }, { edge, allowedOrigins: [panel] });

    expect(issues({ sameSite: site ? "lax" : "none" })).toBeUndefined();
    expect(issues({ sameSite: site ? "none" : "lax" })).toHaveLength(1);
    if (site) expect(issues({ cookieDomain: site })).toBeUndefined();
    expect(issues({ sameSite: site ? "lax" : "none", cookieDomain: api.split(".").slice(-2).join(".") })).toEqual([
      "stages.1.signIn.cookieDomain: browsers take no cookie for a domain under which others have theirs",
    ]);
  });

  it("is refused for an API under API Gateway's own address, unless the cookie may go to other sites", () => {
    expect(issuesWith({}, withoutDomain)).toEqual([
      "stages.1.signIn.sameSite: browsers would not send the cookie, as panel and API are on different sites: none",
    ]);
    expect(issuesWith({ sameSite: "none", cookieDomain: "example.com" }, withoutDomain)).toEqual([
      "stages.1.signIn.cookieDomain: the API's domain, which is API Gateway's, is not within it",
    ]);
  });
});
