import { beforeEach, describe, expect, it } from "vitest";
import { useAdministrator } from "../../support/callers.ts";
import { aContributor } from "../../support/catalogue.ts";
import { invalidParameter } from "../../support/envelope.ts";
import { aUser, type Person } from "../../support/people.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();
const administrator = useAdministrator(stack);

const list = (query: Record<string, string | number> = {}, as = administrator.token) =>
  stack.call("admin-contributors/list", { as, query: { client: 1, ...query } });
const namesIn = ({ body }: { body: { contributors: { first_name: string }[] } }) =>
  body.contributors.map(({ first_name }) => first_name);

beforeEach(() => stack.sql`delete from contributors`);

describe("GET /admin-contributors", () => {
  it("answers 200 with every field, unpublished ones included, in the client's scope", async () => {
    const hidden = await aContributor(stack.sql, { first_name: "Hidden", public: false, client_id: 1 });
    const shown = await aContributor(stack.sql, { first_name: "Shown", last_name: "One", image: "avatars/one.webp" });
    await aContributor(stack.sql, { client_id: 2 });

    const { status, body } = await list();

    expect(status).toBe(200);
    expect(body).toEqual({
      contributors: [
        { id: hidden.id, first_name: "Hidden", last_name: "", slug: hidden.slug, image: "" },
        {
          id: shown.id,
          first_name: "Shown",
          last_name: "One",
          slug: shown.slug,
          image: "https://images.example.com/avatars/one.webp",
        },
      ],
      max: 2,
      from: 0,
      to: 2,
    });
  });

  it("answers 200 with type, visibility and client where they are included, before who is editing", async () => {
    const { sql } = stack;
    const own = await aContributor(sql, { first_name: "A", type: "author", public: false, client_id: 1 });
    await aContributor(sql, { first_name: "B" });
    const other = await aUser(sql);
    await sql`insert into contributor_locks values (${own.id}, ${other.id}, now() + interval '5 minutes')`;
    const included = async (include: string, query = {}) =>
      (await list({ include, ...query })).body.contributors.map((each: object) => Object.entries(each).slice(5));

    const lock = ["locked_by", { id: other.id, username: other.username }];
    expect(await included("client,public,type")).toEqual([
      [["type", "author"], ["public", false], ["client", 1], lock],
      [
        ["type", ""],
        ["public", true],
        ["client", null],
      ],
    ]);
    expect(await included("public", { search: "b" })).toEqual([[["public", true]]]);
    expect(await included("")).toEqual([[lock], []]);
  });

  it("answers 200 in both orders, searched and paged", async () => {
    for (const first_name of ["Zoë", "Émile", "emma"]) await aContributor(stack.sql, { first_name, public: false });

    expect(namesIn(await list())).toEqual(["Émile", "emma", "Zoë"]);
    expect(namesIn(await list({ order: "name-desc" }))).toEqual(["Zoë", "emma", "Émile"]);
    expect((await list({ order: "added-asc" })).body).toEqual(invalidParameter("order"));
    expect((await list({ search: "EM" })).body).toMatchObject({ max: 2, to: 2 });
    expect((await list({ limit: 1, offset: 2 })).body).toMatchObject({
      contributors: [{ first_name: "Zoë" }],
      max: 3,
      from: 2,
      to: 3,
    });
  });

  it("answers 200 with somebody else's lock, never the caller's own nor an expired one", async () => {
    const { sql } = stack;
    const other = await aUser(sql);
    const lock = async (first_name: string, holder: Person, minutes: number) => {
      const { id } = await aContributor(sql, { first_name });
      await sql`insert into contributor_locks values (${id}, ${holder.id}, now() + make_interval(mins => ${minutes}))`;
    };
    await lock("A", other, 5);
    await lock("B", administrator, 5);
    await lock("C", other, -5);

    const { body } = await list();

    expect(body.contributors[0].locked_by).toEqual({ id: other.id, username: other.username });
    expect(body.contributors.map((each: object) => "locked_by" in each)).toEqual([true, false, false]);
  });
});
