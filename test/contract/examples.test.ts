import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { examples } from "../../infra/api/openapi/examples.ts";
import { anAdministrator } from "../support/people.ts";
import { type Request, type Stack, startStack } from "../support/stack.ts";

const marginalia = { id: 4 };
const urasawa = { id: 5 };

let stack: Stack;
let token: string;

beforeAll(async () => {
  stack = await startStack({ from: "demo" });
  token = (await anAdministrator(stack.sql)).token;
  await stack.call("admin-users/id", { as: "local-administrator", path: marginalia });
  await stack.call("admin-contributors/id", { as: "local-editor", path: urasawa });
});

afterAll(() => stack.close());

const answer = async (endpoint: string, request: Request = {}) =>
  (await stack.call(endpoint, { as: token, ...request })).body;
const listed = async (endpoint: string, field: string, query: Request["query"], path = {}) =>
  (await answer(endpoint, { path, query: { client: 1, ...query } }))[field][0];

/** The record of the demo data that each example shows. */
const records: { readonly [Name in keyof typeof examples]: () => Promise<unknown> } = {
  Slug: async () => (await answer("contributor/slug", { path: { slug: "naoki-urasawa" } })).slug,
  Permission: () => answer("admin-permissions/id", { path: { id: 12 } }),
  RoleListItem: async () => (await answer("admin-roles/list")).find(({ name }: { name: string }) => name === "Editor"),
  Role: () => answer("admin-roles/id", { path: { id: 3 } }),
  UserListItem: () => listed("admin-users/list", "users", { search: "marginalia" }),
  User: () => answer("admin-users/id", { path: marginalia }),
  AdminContributorListItem: () => listed("admin-contributors/list", "contributors", { search: "urasawa" }),
  AdminContributor: () => answer("admin-contributors/id", { path: urasawa }),
  ContributorListItem: async () => {
    const { name, slug } = await listed("contributor/works", "works", { search: "billy" }, urasawa);
    return {
      ...(await listed("contributors/list", "contributors", { search: "urasawa" })),
      random_series: { name, slug },
    };
  },
  Contributor: () => answer("contributor/slug", { path: { slug: "naoki-urasawa" } }),
  PublisherListItem: () => listed("publishers/list", "publishers", { search: "kodansha" }),
  Publisher: () => answer("publisher/slug", { path: { slug: "kodansha" } }),
  Work: () => listed("contributor/works", "works", { search: "20th" }, urasawa),
  Publication: () => listed("publisher/publications", "publications", { search: "20th" }, { id: 3 }),
};

describe("The examples of the OpenAPI document", () => {
  it.each(Object.entries(examples))("match the demo data: %s", async (name, example) => {
    expect(example).toEqual(await records[name as keyof typeof examples]());
  });
});
