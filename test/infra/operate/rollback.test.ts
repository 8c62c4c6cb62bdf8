import { text } from "node:stream/consumers";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { rollback } from "../../../infra/operate/rollback.ts";
import { planRollback } from "../../../infra/operate/rollback-plan.ts";
import { type Api, send, serveApis } from "../../support/aws-apis.ts";
import { type FakeAlias, makeLambdaApi } from "../../support/lambda-api.ts";

/** Three releases, oldest first. */
const [first, second, third] = ["111111111111", "222222222222", "333333333333"] as const;
const releases: readonly string[] = [first, second, third];

const lambdaApi = makeLambdaApi();
/** What was invoked, and whether that fails. */
const invocations: string[] = [];
let invocationStatus = 200;
const invoke: Api = async (request, response) => {
  const [, name = ""] = /function(?:%3A|:)([^/]+)\/invocations(?:\?Qualifier=live)?$/.exec(request.url ?? "") ?? [];
  if (name !== "") {
    invocations.push(`${name} ${await text(request)}`);
    send(response, { status: invocationStatus, body: { invalidated: ["/*"] } });
  }
  return name !== "";
};

beforeAll(async () => (await serveApis(["LAMBDA"], [invoke, lambdaApi.result])).close);

/** The version of a release: version 5 of the first one, made for migration 20. */
const versionOf = (release: string, cluster = "new") => {
  const index = releases.indexOf(release);
  return {
    Version: `${5 + index}`,
    Description: `Does something (release ${release}, migration 00${20 + index})`,
    LastModified: `2026-11-2${index}T10:00:00.000+0000`,
    Environment: { Variables: { DATABASE_CLUSTER_ARN: cluster } },
  };
};

const deployed = (live: FakeAlias | undefined, versions = releases.map((each) => versionOf(each))) => ({
  versions,
  live,
});
const names = ["contributors-list", "contributor-slug", "publishers-list", "session"].map(
  (each) => `colophon-prod-${each}`,
);

beforeEach(() => {
  lambdaApi.functions.clear();
  lambdaApi.changes.length = 0;
  lambdaApi.failures.clear();
  invocations.length = 0;
  invocationStatus = 200;
  for (const name of names) lambdaApi.functions.set(name, deployed({ FunctionVersion: "7" }));
  lambdaApi.functions.set("colophon-prod-ops-tidy", deployed(undefined));
  lambdaApi.functions.set("colophon-production-session", deployed({ FunctionVersion: "7" }));
});

/** What it printed, and the error that it ended with. */
async function run(options: { stage?: string; to?: string; isDryRun?: boolean } = {}) {
  const lines: string[] = [];
  const error = await rollback({ stage: "prod", isDryRun: false, ...options, print: (line) => lines.push(line) }).then(
    () => undefined,
    ({ message }: Error) => message,
  );
  return { output: lines.join("\n"), error };
}

const liveOf = (name: string): FakeAlias | undefined => lambdaApi.functions.get(name)?.live;
const live = () => names.map((each) => liveOf(each)?.FunctionVersion).join();

describe("npm run rollback", () => {
  it("points every function of the stage to the release before, and to the one before that", async () => {
    const { output, error } = await run();

    expect(error).toBeUndefined();
    expect(live()).toBe("6,6,6,6");
    for (const line of [
      "Stage prod runs release 333333333333 of 2026-11-22 10:00 UTC, migration 22",
      "It goes to release 222222222222 of 2026-11-21 10:00 UTC, migration 21",
      ...names.map((name) => `${name}: 7 -> 6`),
      "npm run rollback -- --stage prod --to 333333333333",
      "Migrations stay: the database has 22, and this release was made for 21.",
      "The edge of stage prod is empty",
    ])
      expect(output).toContain(line);
    expect(invocations).toEqual(['colophon-prod-ops-invalidate {"everything":true}']);

    await run();
    expect(live()).toBe("5,5,5,5");

    expect((await run()).error).toMatch(/^There is no release before 111111111111\. Lambda has:\n333333333333 of /);
    expect(live()).toBe("5,5,5,5");
    expect(liveOf("colophon-production-session")?.FunctionVersion).toBe("7");
  });

  it("goes to a named release, forward as well, and twice no further", async () => {
    await run({ to: first });
    expect(live()).toBe("5,5,5,5");

    await run({ to: third });
    lambdaApi.changes.length = 0;
    const { output } = await run({ to: third });

    expect(live()).toBe("7,7,7,7");
    expect(output).toContain("colophon-prod-session: stays at 7, already");
    expect(lambdaApi.changes).toEqual([]);
    expect((await run({ to: "444444444444" })).error).toContain("There is no release 444444444444. Lambda has:\n");
  });

  it("only shows what it would do in a dry run", async () => {
    const { output } = await run({ isDryRun: true });

    expect(output).toContain("It would go to release 222222222222");
    expect(output).toContain("colophon-prod-session: 7 -> 6");
    expect([...lambdaApi.changes, ...invocations]).toEqual([]);
  });

  it("leaves a function as it is that is newer than the release", async () => {
    lambdaApi.functions.set("colophon-prod-series-list", deployed({ FunctionVersion: "7" }, [versionOf(third)]));

    const { output } = await run();
    expect(output).toContain("colophon-prod-series-list: stays at 7, since it is newer than that release");

    await run();
    expect([live(), liveOf("colophon-prod-series-list")?.FunctionVersion]).toEqual(["5,5,5,5", "7"]);
  });

  it("moves the others when one fails, and what is left when it is run again", async () => {
    const [, two = ""] = names;
    lambdaApi.failures.set(two, { status: 403, type: "AccessDeniedException" });

    const { output, error } = await run();

    expect(error).toBe("1 of 4 functions have not moved: run it again");
    expect(output).toContain(`${two}: failed: AccessDeniedException by the test`);
    expect(live()).toBe("6,7,6,6");
    // What has moved responds otherwise than what the edge keeps.
    expect(invocations).toHaveLength(1);

    lambdaApi.changes.length = 0;
    expect((await run()).error).toBeUndefined();
    expect(lambdaApi.changes).toEqual([`UpdateAlias ${two} 6`]);
    expect(live()).toBe("6,6,6,6");
  });

  it("fails when the edge cannot be emptied", async () => {
    invocationStatus = 429;

    expect([(await run()).error, live()]).toEqual([expect.any(String), "6,6,6,6"]);
  });

  const unnamed = { ...versionOf(third), Description: "" };
  it.each([
    {
      what: "has lost its version",
      versions: [versionOf(first), versionOf(third)],
      message: "no version of release 222222222222 any",
    },
    {
      what: "used a database before a restore",
      versions: [versionOf(second, "old"), versionOf(third)],
      message: "another database cluster: ",
    },
    { what: "has no release", versions: [unnamed], message: "Version 7 of colophon-prod-session names no release" },
  ])("changes nothing if a function $what", async ({ versions, message }) => {
    lambdaApi.functions.set("colophon-prod-session", deployed({ FunctionVersion: "7" }, versions));

    expect((await run()).error).toContain(message);
    expect(lambdaApi.changes).toEqual([]);
  });

  it.each([
    { stage: "dev", message: "No function of stage dev has an alias in eu-central-1: deploy it first" },
    { stage: "test", message: "There is no stage test in infra/stages.example.ts" },
  ])("says of stage $stage why it cannot go back", async ({ stage, message }) => {
    lambdaApi.functions.set("colophon-dev-session", deployed(undefined));

    expect((await run({ stage })).error).toContain(message);
  });

  it("changes nothing with credentials of another account", async () => {
    const { id } = lambdaApi.account;
    lambdaApi.account.id = "999999999999";

    const { error } = await run();
    lambdaApi.account.id = id;

    expect(error).toBe(`These credentials are for account 999999999999, and the settings for ${id}`);
    expect(lambdaApi.changes).toEqual([]);
  });

  it("goes back to the last release before a migration that takes something away, and no further", () => {
    const versions = releases.map((release, index) => ({
      ...{ number: 5 + index, release, migration: 20 + index, cluster: "new" },
      publishedAt: `2026-11-2${index}T10:00:00.000+0000`,
    }));
    const target = (to: string | undefined, migration: number) => {
      const contractions = [{ migration, worksSince: migration - 1 }];
      return planRollback([{ name: "colophon-prod-session", live: 7, versions }], { to, contractions }).to.release;
    };

    expect(target(undefined, 22)).toBe(second);
    expect(() => target(first, 22)).toThrow(
      "Release 111111111111 was made for migration 20, and 22 took away what releases before 21 use",
    );
    expect(target(first, 23)).toBe(first);
  });
});
