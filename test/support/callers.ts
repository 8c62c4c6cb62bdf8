import { beforeAll } from "vitest";
import type { Permission } from "../../lib/contract/permissions.ts";
import type { Sql } from "./database.ts";
import { anAdministrator, holderOf, type Person } from "./people.ts";

type Database = { readonly sql: Sql };

/** A logged-in user who holds exactly these permissions, for all tests of a file; exists from its first test on. */
export const useHolder = (stack: Database, ...permissions: readonly Permission[]): Person =>
  usePerson(() => holderOf(stack.sql, ...permissions));

/** A logged-in user who holds every permission, for all tests of a file. */
export const useAdministrator = (stack: Database): Person => usePerson(() => anAdministrator(stack.sql));

function usePerson(make: () => Promise<Person>): Person {
  const person = {} as Person;
  beforeAll(async () => void Object.assign(person, await make()));
  return person;
}
