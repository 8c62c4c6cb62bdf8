import { describe, expect, it } from "vitest";
import { missingParameters } from "../../support/envelope.ts";
import { itUpdatesImages, useImages } from "../../support/image-endpoints.ts";
import { dataUrl } from "../../support/pictures.ts";

const images = useImages("contributors");

describe("POST /admin-contributors/update-avatar/{id}", () => {
  itUpdatesImages(images);

  it("answers 400 to an invalid id", async () => {
    const update = () => images.updateImage({ image: dataUrl(images.picture) }, { id: "nobody" });

    expect(await images.untouched(update)).toEqual(missingParameters);
  });
});
