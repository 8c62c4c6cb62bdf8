import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { aContributor } from "../../support/catalogue.ts";
import { envelope, forbidden, missingParameters, unauthorized } from "../../support/envelope.ts";
import { holderOf, type Person } from "../../support/people.ts";
import { dataUrl, plain } from "../../support/pictures.ts";
import { unchanged, whileDatabaseFails } from "../../support/unchanged.ts";
import { imageOf, notedKeys, pairOf, startUploads, type UploadStack } from "../../support/uploads.ts";

let stack: UploadStack;
let editor: Person;
let contributor: { id: number };
let key: string | null;

beforeAll(async () => {
  stack = await startUploads();
  editor = await holderOf(stack.sql, "edit-contributors");
});

beforeEach(async () => {
  contributor = await aContributor(stack.sql);
  const image = dataUrl(await plain().jpeg().toBuffer());
  await stack.call("admin-contributors/update-avatar", {
    as: editor.token,
    path: { id: contributor.id },
    body: { image },
  });
  key = await imageOf(stack, "contributors", contributor);
  stack.dataApi.calls.length = 0;
  stack.s3.requests.length = 0;
});

afterAll(() => stack.close());

const remove = ({ as = editor.token, id = contributor.id as number | string } = {}) =>
  stack.call("admin-contributors/delete-avatar", { as, path: { id } });

async function untouched(call: () => ReturnType<typeof remove>) {
  const reply = await unchanged(stack, call);
  expect(stack.s3.requests).toEqual([]);
  expect(await stack.keys()).toEqual(expect.arrayContaining(pairOf(key)));
  stack.s3.requests.length = 0;
  return reply;
}

const failed = envelope(500, "An error occurred while deleting the contributor avatar");

describe("DELETE /admin-contributors/delete-avatar/{id}", () => {
  it("answers 200 with one statement, and removes both sizes and the reference", async () => {
    const { body } = await remove();

    expect(body).toEqual(envelope(200, "Contributor avatar deleted"));
    expect(stack.dataApi.calls).toHaveLength(1);
    expect(stack.s3.requests).toHaveLength(1);
    expect(await imageOf(stack, "contributors", contributor)).toBeNull();
    for (const each of pairOf(key)) expect(await stack.keys()).not.toContain(each);
  });

  it("answers 200 when S3 does not answer, and leaves the objects to the scheduled removal", async () => {
    stack.s3.intercept(() => "error-before");
    const { body } = await remove();
    stack.s3.intercept(undefined);

    expect(body).toEqual(envelope(200, "Contributor avatar deleted"));
    expect(await stack.keys()).toEqual(expect.arrayContaining(pairOf(key)));
    expect(await notedKeys(stack)).toContain(key);
    await stack.sweep();
    for (const each of pairOf(key)) expect(await stack.keys()).not.toContain(each);
  });

  it("answers 400 to an invalid id", async () => {
    for (const id of ["nobody", "1.5"]) {
      expect((await untouched(() => remove({ id }))).body).toEqual(missingParameters);
    }
  });

  it("answers 401 without a session, and the avatar stays", async () => {
    expect((await untouched(() => remove({ as: "junk" }))).body).toEqual(unauthorized);
  });

  it("answers 403 without edit-contributors, and the avatar stays", async () => {
    const other = await holderOf(stack.sql, "view-contributors", "delete-contributors");

    expect((await untouched(() => remove({ as: other.token }))).body).toEqual(forbidden);
  });

  it("answers 404 for a contributor who is not there", async () => {
    for (const id of [987_654, 0, -1, "9".repeat(20)])
      expect((await untouched(() => remove({ id }))).body).toEqual(envelope(404, "Contributor not found"));
  });

  it("answers 500 for a contributor without an avatar", async () => {
    const { id } = await aContributor(stack.sql);

    expect((await untouched(() => remove({ id }))).body).toEqual(failed);
  });

  it("answers 500 to all but one of many at once", async () => {
    const replies = await Promise.all(Array.from({ length: 8 }, () => remove()));

    expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(500)]);
  });

  it("answers 500 and changes nothing when the database fails", async () => {
    expect((await untouched(() => whileDatabaseFails(stack, () => remove()))).body).toEqual(failed);
  });
});
