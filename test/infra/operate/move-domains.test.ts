import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { moveDomains } from "../../../infra/operate/move-domains.ts";
import { settings } from "../../../infra/stages.ts";
import { addressOf, type Distributions, startDistributions } from "../../support/distributions.ts";
import { key } from "../../support/environment.ts";
import { useSynthesis } from "../stacks/synthesis.ts";

const synthesis = useSynthesis();
const api = "api.example.com";
const images = "images.example.com";
let cloudFront: Distributions;

beforeAll(async () => {
  cloudFront = await startDistributions();
  Object.assign(process.env, {
    AWS_ACCESS_KEY_ID: key.accessKeyId,
    AWS_SECRET_ACCESS_KEY: key.secretAccessKey,
    AWS_ENDPOINT_URL_CLOUDFRONT: cloudFront.url,
  });
});

afterAll(() => cloudFront.close());

/** What the templates call the distributions, in the region that is lost and in another. */
const commentsIn = (region: string) =>
  synthesis
    .template("colophon-prod")
    .all("CloudFront::Distribution")
    .map(({ Properties }) => Properties.DistributionConfig.Comment.replace("eu-central-1", region) as string)
    .sort();

beforeEach(() => {
  const [one = "", two = ""] = commentsIn("eu-central-1");
  const [three = "", four = ""] = commentsIn("eu-west-1");
  cloudFront.account.id = settings.account.id;
  cloudFront.all.splice(0, Number.POSITIVE_INFINITY);
  cloudFront.all.push(
    { id: "E1", comment: one, aliases: [api] },
    { id: "E2", comment: two, aliases: [images, "pictures.example.com"] },
    { id: "E3", comment: three, aliases: [] },
    { id: "E4", comment: four, aliases: [] },
    { id: "E5", comment: "Somebody else's", aliases: ["www.example.com"] },
  );
  cloudFront.records.clear();
  cloudFront.records.set(`_${api}`, addressOf("E3")).set(`_${images}`, addressOf("E4"));
  cloudFront.moves.length = 0;
});

/** What it printed, and the error that it ended with. */
async function run(options: { stage?: string; region?: string; isDryRun?: boolean } = {}) {
  const lines: string[] = [];
  const print = (line: string) => void lines.push(line);
  const error = await moveDomains({ stage: "prod", region: "eu-west-1", isDryRun: false, ...options, print }).then(
    () => undefined,
    ({ message }: Error) => message,
  );
  return { output: lines.join("\n"), error };
}

const aliases = () => cloudFront.all.map((each) => each.aliases.join(" "));

describe("npm run move-domains", () => {
  it("moves the stage's domains, and no other, to the distributions in its region", async () => {
    const { output, error } = await run();

    expect(error).toBeUndefined();
    expect(aliases()).toEqual(["", "pictures.example.com", api, images, "www.example.com"]);
    expect(output).toContain(`${api}: E1 -> E3\n${images}: E2 -> E4\nPoint ${api} to e3.cloudfront.net`);
    expect(output).toContain('set "hasAliases: true" and deploy');
  });

  it("moves nothing twice", async () => {
    await run();
    cloudFront.moves.length = 0;

    expect((await run()).output).toContain(`${api}: is at E3 already\n${images}: is at E4 already`);
    expect(cloudFront.moves).toEqual([]);
  });

  it("shows in a dry run what it would do, and the records that it needs", async () => {
    const { output } = await run({ isDryRun: true });

    expect(output).toContain(`${api}: E1 -> E3, if DNS has\n  _${api} TXT e3.cloudfront.net`);
    expect(cloudFront.moves).toEqual([]);
  });

  it("moves the others when CloudFront refuses one, and what is left when it is run again", async () => {
    cloudFront.records.delete(`_${api}`);

    expect((await run()).error).toContain(`${api} has not moved: InvalidArgument\nCloudFront wants the TXT records`);
    expect(cloudFront.moves).toEqual([`${images} to E4`]);

    cloudFront.records.set(`_${api}`, addressOf("E3"));
    expect((await run()).error).toBeUndefined();
    expect(cloudFront.moves).toEqual([`${images} to E4`, `${api} to E3`]);
  });

  it.each([
    [{ region: "eu-north-1" }, `There is no distribution for ${api} in eu-north-1: deploy the stage first`],
    [{ stage: "dev" }, "Stage dev has no distribution of CloudFront"],
    [{ stage: "test" }, "There is no stage test in infra/stages.ts"],
  ])("moves nothing of %j", async (options, message) => {
    expect((await run(options)).error).toBe(message);
    expect(cloudFront.moves).toEqual([]);
  });

  it("moves nothing of another account", async () => {
    cloudFront.account.id = "210987654321";

    expect((await run()).error).toContain("These credentials are for account 210987654321");
    expect(cloudFront.moves).toEqual([]);
  });
});
