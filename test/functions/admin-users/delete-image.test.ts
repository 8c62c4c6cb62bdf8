import { describe, expect, it } from "vitest";
import { forbidden } from "../../support/envelope.ts";
import { itRemovesImages, useImages } from "../../support/image-endpoints.ts";
import { anAdministrator, holderOf } from "../../support/people.ts";
import { dataUrl } from "../../support/pictures.ts";

const images = useImages("users");
const { missing, removeImage, untouched } = images;

describe("DELETE /admin-users/delete-image/{id}", () => {
  itRemovesImages(images);

  it("answers 403 for a user who holds all permissions of the caller and more, and the image stays", async () => {
    const { id, token } = await anAdministrator(images.stack.sql);
    await images.updateImage({ image: dataUrl(images.picture) }, { as: token, id });

    expect(await untouched(() => removeImage({ id }))).toEqual(forbidden);
  });

  it("answers 404 for a caller who has been deleted", async () => {
    const { id, token } = await holderOf(images.stack.sql, "edit-users");
    await images.stack.sql`delete from users where id = ${id}`;

    expect(await untouched(() => removeImage({ id }))).toEqual(missing);
    expect(await untouched(() => removeImage({ as: token }))).toEqual(missing);
  });
});
