import { expect, it } from "vitest";
import { declare } from "../../lib/contract/declare.ts";

it("An administrative path without a permission is a type error, since its responses would be public", () => {
  const particulars = { summary: "Lists", response: { message: "Done" } } as const;

  // @ts-expect-error
  declare("GET /admin-roles/unused", particulars);

  expect(declare("GET /roles", particulars)).toMatchObject({ method: "GET", path: "/roles" });
  expect(declare("GET /admin-roles/unused", { ...particulars, permission: "view-roles" })).toHaveProperty("permission");
});
