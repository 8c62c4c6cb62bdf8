import { expect, it } from "vitest";
import { startLambda } from "../../../../infra/aws-local/lambda/lambda.ts";
import { settingsOf } from "../../../../infra/local/stage/functions.ts";
import { writeFunctions } from "../fixtures.ts";

it("keeps an environment that opens from taking formats of images from the others", async () => {
  const { outdir, remove } = await writeFunctions({
    decodes: `import sharp from "sharp";
      const blank = sharp({ create: { width: 1, height: 1, channels: 3, background: "#000" } });
      export const handler = async () => (await sharp(await blank.png().toBuffer()).metadata()).format;`,
    blocks: `import sharp from "sharp"; sharp.block({ operation: ["VipsForeignLoad"] });
      export const handler = async () => "loaded";`,
  });
  const lambda = await startLambda({ outdir, settingsOf: () => settingsOf("admin-users-update-image") });

  expect(await lambda.invoke("decodes", {})).toEqual({ result: "png" });
  expect(await lambda.invoke("blocks", {})).toEqual({ result: "loaded" });
  expect(await lambda.invoke("decodes", {})).toEqual({ result: "png" });

  await lambda.close();
  await remove();
});
