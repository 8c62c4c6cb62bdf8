import { describe, expect, it } from "vitest";
import { useAdministrator } from "../support/callers.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack();
const administrator = useAdministrator(stack);

async function slugOf(first_name: string): Promise<string> {
  const { status } = await stack.call("admin-contributors/add", { as: administrator.token, body: { first_name } });
  const [{ slug = "" } = {}] = await stack.sql`select slug from contributors where first_name = ${first_name}`;
  expect(status).toBe(200);
  return slug;
}

async function slugsOf(...names: readonly string[]): Promise<string[]> {
  const slugs: string[] = [];
  for (const name of names) slugs.push(await slugOf(name));
  return slugs;
}

describe("A slug", () => {
  it("has the letters of ligatures, of wide forms and of numbers in circles", async () => {
    expect(await slugsOf("ﬁne ﬂower", "Ｔｅｚｕｋａ", "Ⅻ ①")).toEqual(["fine-flower", "tezuka", "xii-1"]);
  });
});

describe("A next slug is found", () => {
  it("in the order of names, where there are no gaps", async () => {
    expect(await slugsOf("Gap", "Gap!", "Gap?", "Gap.", "Gap,")).toEqual(["gap", "gap-2", "gap-3", "gap-4", "gap-5"]);
  });

  it("after names without Latin letters that end in the largest number", async () => {
    expect(await slugsOf("鳥山明", "Contributor 999999999", "尾田栄一郎", "手塚治虫")).toEqual([
      "contributor",
      "contributor-999999999",
      "contributor-2",
      "contributor-3",
    ]);
  });

  it.each(["999999999", "9999999999", "99999999999999999999"])("after a name that ends in %s", async (number) => {
    const slugs = await slugsOf(`X${number}`, `X${number} ${number}`, `X${number}!`, `X${number}?`);

    expect(new Set(slugs).size).toBe(4);
  });

  it("where every power of two is taken", async () => {
    await stack.sql`
      insert into contributors (first_name, slug)
      select 'Power ' || power, 'power-' || trunc(2::numeric ^ power) from generate_series(1, 62) as power
      union all
      select 'Power', 'power'
    `;

    expect(await slugOf("Power!")).toMatch(/^power-\d{18}$/);
  });

  it("for users by ops-create-user, whatever names there are", async () => {
    const slugs: unknown[] = [];
    for (const username of ["X", "X 999999999", "X!", "X?", "ユーザー", "利用者"]) {
      const invocation = await stack.lambda.invoke("ops-create-user", { username });
      slugs.push((invocation as { result: { slug: string } }).result.slug);
    }

    expect(slugs).toEqual(["x", "x-999999999", "x-2", "x-3", "user", "user-2"]);
  });

  it("behind all that there are", async () => {
    await stack.sql`
      insert into contributors (first_name, slug)
      select 'Many ' || number, 'many-' || number from generate_series(2, 5000) as number
      union all
      select 'Many', 'many'
    `;

    expect(await slugOf("Many!")).toBe("many-5001");
  });
});
