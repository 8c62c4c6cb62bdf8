import { describe, expect, it } from "vitest";
import { useHolder } from "../../support/callers.ts";
import { envelope, invalidParameter } from "../../support/envelope.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();
const adder = useHolder(stack, "add-contributors");

const add = (body: unknown, query: Record<string, string | number> = {}) =>
  stack.call("admin-contributors/add", { as: adder.token, body, query });
const taken = envelope(409, "Contributor with this Name exists already.");

describe("POST /admin-contributors/add", () => {
  it("answers 200 and adds an unpublished contributor, shared or a client's own", async () => {
    const { status, body } = await add({
      first_name: " Émile ",
      last_name: "Zola",
      public: true,
      id: 77,
      slug: "mine",
    });
    await add({ first_name: "株式会社" }, { client: 2 });

    expect([status, body]).toEqual([200, envelope(200, "Contributor added")]);
    expect(
      await stack.sql`select first_name, last_name, slug, public, client_id from contributors order by id`,
    ).toEqual([
      { first_name: "Émile", last_name: "Zola", slug: "emile-zola", public: false, client_id: null },
      { first_name: "株式会社", last_name: null, slug: "contributor", public: false, client_id: 2 },
    ]);
  });

  it("answers 200 and gives different names different slugs", async () => {
    for (const first_name of ["José Prats", "Jose Prats", "Jose, Prats"]) await add({ first_name });

    const slugs = await stack.sql`select slug from contributors where slug like 'jose%' order by id`;
    expect(slugs.map(({ slug }) => slug)).toEqual(["jose-prats", "jose-prats-2", "jose-prats-3"]);
  });

  it("answers 400 with the name of the parameter to an invalid last name and a missing client", async () => {
    expect((await add({ first_name: "Ann", last_name: 7 })).body).toEqual(invalidParameter("last_name"));
    expect((await add({ first_name: "Ann" }, { client: 99 })).body).toEqual(invalidParameter("client"));
    expect((await add({ first_name: "Ann" }, { client: "x" })).body).toEqual(invalidParameter("client"));
  });

  it.each(["\u0390", "\u03b0", "\u00df", "\u0149"])("answers 409 to %s in upper case", async (name) => {
    expect((await add({ first_name: name })).status).toBe(200);
    expect((await add({ first_name: name.toUpperCase() })).body).toEqual(taken);
  });

  it("answers 409 to a name that is taken, whatever its case and space", async () => {
    await add({ first_name: "Ursula", last_name: "Le Guin" });
    await add({ first_name: "Hergé" });

    expect((await add({ first_name: " URSULA", last_name: "le guin " })).body).toEqual(taken);
    expect((await add({ first_name: "hergé", last_name: "" })).body).toEqual(taken);
    expect((await add({ first_name: "Ursula" })).status).toBe(200);
  });
});
