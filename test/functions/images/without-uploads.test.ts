import { beforeAll, describe, expect, it } from "vitest";
import { endpointPath } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { aContributor } from "../../support/catalogue.ts";
import { envelope } from "../../support/envelope.ts";
import { anAdministrator, aUser, type Person } from "../../support/people.ts";
import { useStack } from "../../support/stack.ts";
import { unchanged } from "../../support/unchanged.ts";
import { notedKeys } from "../../support/uploads.ts";

const stack = useStack();
let administrator: Person;

beforeAll(async () => {
  administrator = await anAdministrator(stack.sql);
});

const uploading = endpoints.filter(({ needsFileService }) => needsFileService);

describe("An instance without uploads", () => {
  it("knows of four endpoints that need a file service", () => {
    expect(uploading.map(endpointPath).sort()).toEqual([
      "admin-contributors/delete-avatar",
      "admin-contributors/update-avatar",
      "admin-users/delete-image",
      "admin-users/update-image",
    ]);
  });

  it.each(uploading.map((each) => [`${each.method} ${each.path}`, endpointPath(each)]))(
    "answers 503 to %s, whoever asks for whatever, and touches nothing",
    async (_, name) => {
      stack.dataApi.calls.length = 0;
      for (const as of [administrator.token, "junk", undefined]) {
        for (const id of [1, "nobody"]) {
          const body = name.includes("update") ? { image: "data:image/png;base64,AAAA" } : undefined;
          const reply = await unchanged(stack, () => stack.call(name, { as, path: { id }, body }));
          expect(reply.body).toEqual(envelope(503, "This service is not handling file uploads."));
        }
      }
      expect(stack.dataApi.calls).toEqual([]);
    },
  );

  it("still deletes users and contributors with images, and lists the images for an instance with the bucket", async () => {
    const user = await aUser(stack.sql);
    const contributor = await aContributor(stack.sql, { image: "avatars/theirs.webp" });
    await stack.sql`update users set image = 'profiles/theirs.webp' where id = ${user.id}`;
    const remove = (name: string, id: number) => stack.call(name, { as: administrator.token, path: { id } });

    expect((await remove("admin-users/delete", user.id)).status).toBe(200);
    expect((await remove("admin-contributors/delete", contributor.id)).status).toBe(200);

    expect(await notedKeys(stack)).toEqual(["avatars/theirs.webp", "profiles/theirs.webp"]);
  });
});
