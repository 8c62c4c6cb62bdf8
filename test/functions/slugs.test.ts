import { describe, expect, it } from "vitest";
import { useAdministrator } from "../support/callers.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack();
const administrator = useAdministrator(stack);

async function slugsOf(...names: readonly string[]): Promise<string[]> {
  const slugs: string[] = [];
  for (const first_name of names) {
    const { status } = await stack.call("admin-contributors/add", { as: administrator.token, body: { first_name } });
    const [row] = await stack.sql`select slug from contributors where first_name = ${first_name}`;
    expect(status).toBe(200);
    slugs.push(row?.slug);
  }
  return slugs;
}

describe("A slug", () => {
  it.each([
    [
      "has the letters of ligatures, of wide forms and of numbers in circles",
      ["ﬁne ﬂower", "Ｔｅｚｕｋａ", "Ⅻ ①"],
      ["fine-flower", "tezuka", "xii-1"],
    ],
    [
      "is the next one in the order of names, without gaps",
      ["Gap", "Gap!", "Gap?", "Gap.", "Gap,"],
      ["gap", "gap-2", "gap-3", "gap-4", "gap-5"],
    ],
    [
      "is found after names without Latin letters that end in the largest number",
      ["鳥山明", "Contributor 999999999", "尾田栄一郎", "手塚治虫"],
      ["contributor", "contributor-999999999", "contributor-2", "contributor-3"],
    ],
  ])("%s", async (_, names, slugs) => {
    expect(await slugsOf(...names)).toEqual(slugs);
  });

  it.each(["999999999", "9999999999", "99999999999999999999"])(
    "is found after a name that ends in %s",
    async (number) => {
      const slugs = await slugsOf(`X${number}`, `X${number} ${number}`, `X${number}!`, `X${number}?`);

      expect(new Set(slugs).size).toBe(4);
    },
  );

  it("is found where every power of two is taken, and behind all that there are", async () => {
    await stack.sql`
      insert into contributors (first_name, slug)
      select 'Power ' || power, 'power-' || trunc(2::numeric ^ power) from generate_series(1, 62) as power
      union all
      select 'Many ' || number, 'many-' || number from generate_series(2, 5000) as number
      union all
      values ('Power', 'power'), ('Many', 'many')
    `;

    const slugs = await slugsOf("Power!", "Many!");

    expect(slugs).toEqual([expect.stringMatching(/^power-\d{18}$/), "many-5001"]);
  });

  it("is found for users by ops-create-user, whatever names there are", async () => {
    const slugs: unknown[] = [];
    for (const username of ["X", "X 999999999", "X!", "X?", "ユーザー", "利用者"]) {
      const invocation = await stack.lambda.invoke("ops-create-user", { username });
      slugs.push((invocation as { result: { slug: string } }).result.slug);
    }

    expect(slugs).toEqual(["x", "x-999999999", "x-2", "x-3", "user", "user-2"]);
  });
});
