import { describe, expect, it } from "vitest";
import { forbidden } from "../../support/envelope.ts";
import { itUpdatesImages, useImages } from "../../support/image-endpoints.ts";
import { anAdministrator, holderOf } from "../../support/people.ts";
import { dataUrl } from "../../support/pictures.ts";

const images = useImages("users");
const { updated, missing, updateImage, untouched } = images;

describe("POST /admin-users/update-image/{id}", () => {
  itUpdatesImages(images);

  it("answers 200 to users who give themselves an image", async () => {
    const { body } = await updateImage({ image: dataUrl(images.picture) }, { id: images.editor.id });

    expect(body).toEqual(updated);
  });

  it("answers 403 for a user who holds all permissions of the caller and more", async () => {
    const { id } = await anAdministrator(images.stack.sql);

    expect(await untouched(() => updateImage({ image: dataUrl(images.picture) }, { id }))).toEqual(forbidden);
  });

  it("answers 403 when the user gets more permissions than the caller meanwhile, and leaves no object", async () => {
    await updateImage({ image: dataUrl(images.picture) });
    const key = await images.key();
    const before = await images.stack.keys();
    const promotion = () => images.stack.sql`
      insert into user_roles (user_id, role_id)
      select ${images.record.id}, id from roles where key = 'administrator'
      on conflict do nothing
    `;

    const body = await images.meanwhile(promotion, () => updateImage({ image: dataUrl(images.picture) }));

    expect(body).toEqual(forbidden);
    expect(await images.key()).toBe(key);
    expect(await images.stack.keys()).toEqual(before);
  });

  it("answers 404 for a caller who has been deleted", async () => {
    const { id, token } = await holderOf(images.stack.sql, "edit-users");
    await images.stack.sql`delete from users where id = ${id}`;

    expect(await untouched(() => updateImage({ image: "junk" }, { id }))).toEqual(missing);
    expect(await untouched(() => updateImage({ image: "junk" }, { as: token }))).toEqual(missing);
  });
});
