import { describe, expect, it } from "vitest";
import { missingParameters } from "../../support/envelope.ts";
import { itRemovesImages, useImages } from "../../support/image-endpoints.ts";

const images = useImages("contributors");

describe("DELETE /admin-contributors/delete-avatar/{id}", () => {
  itRemovesImages(images);

  it("answers 400 to an invalid id", async () => {
    for (const id of ["nobody", "1.5"])
      expect(await images.untouched(() => images.removeImage({ id }))).toEqual(missingParameters);
  });
});
