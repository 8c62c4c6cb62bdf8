import { expect, it } from "vitest";
import { useStack } from "../../support/stack.ts";

const stack = useStack({ from: "demo" });

/** The ways in which visitors type a name. */
const typed: Readonly<Record<string, (first: string, last: string) => string>> = {
  "last name first": (first, last) => `${last}, ${first}`,
  "in quotation marks": (first, last) => `"${first} ${last}"`,
  "with typographic apostrophes": (first, last) => `${first} ${last}`.replaceAll("'", "\u2019"),
  "with apostrophes of a typewriter": (first, last) => `${first} ${last}`.replaceAll("\u2019", "'"),
  "without apostrophes": (first, last) => `${first} ${last}`.replaceAll(/['\u2019]/g, ""),
  "with initials together": (first, last) => `${first} ${last}`.replaceAll(/(?<=\b\p{L})\. ?(?=\p{L}\b)/gu, ""),
  "with initials apart": (first, last) => `${first} ${last}`.replaceAll(/(?<=\b\p{L})\.(?=\p{L})/gu, ". "),
  "with another hyphen": (first, last) => `${first} ${last}`.replaceAll("-", "\u2010"),
  "with blanks for hyphens": (first, last) => `${first} ${last}`.replaceAll("-", " "),
  "without hyphens": (first, last) => `${first} ${last}`.replaceAll("-", ""),
};

it.each(Object.entries(typed))("Everybody in the demo data is found %s", async (_, type) => {
  const people = await stack.sql<{ id: number; first_name: string; last_name: string }[]>`
    select id, first_name, coalesce(last_name, '') as last_name from contributors where public and scope in (0, 1)
  `;
  const missed = [];
  for (const { id, first_name, last_name } of people) {
    const search = type(first_name, last_name);
    const { body } = await stack.call("contributors/list", { query: { client: 1, search } });
    if (!body.contributors.some((found: { id: number }) => found.id === id)) missed.push(search);
  }

  expect(people.length).toBeGreaterThan(50);
  expect(missed).toEqual([]);
});
