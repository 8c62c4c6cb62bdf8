import { expect, it } from "vitest";
import { settingsSchema } from "../../../infra/settings/settings.ts";
import stages from "../../../infra/stages.ts";

it("The settings in infra/stages.ts are valid, as they are in a new checkout or as an operator has changed them", () => {
  expect(settingsSchema.safeParse(stages).error?.issues).toBeUndefined();
});
