import { describe, expect, it } from "vitest";
import { limitedRoles } from "../../../infra/build/database-role.ts";
import {
  connectionsMax,
  connectionsNeeded,
  connectionsOf,
  connectionsWatched,
  shares,
} from "../../../infra/settings/connections.ts";
import { settings } from "../../../infra/settings/settings.ts";

const [dev] = settings.databases;
const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, each) => sum + each, 0);

describe("Connections", () => {
  // Aurora, "Maximum connections for Aurora Serverless v2".
  it.each([
    { capacityMin: 1, capacityMax: 1, max: 189 },
    { capacityMin: 1, capacityMax: 4, max: 823 },
    { capacityMin: 1, capacityMax: 8, max: 1_669 },
    { capacityMin: 1, capacityMax: 16, max: 3_360 },
    { capacityMin: 1, capacityMax: 32, max: 5_000 },
    { capacityMin: 0.5, capacityMax: 16, max: 2_000 },
    { capacityMin: 0, capacityMax: 32, max: 2_000 },
  ])(
    "of a database with a capacity of $capacityMin to $capacityMax ACU are as many as Aurora documents: $max",
    ({ capacityMin, capacityMax, max }) => {
      if (!dev) throw new Error("There is no database");
      expect(connectionsMax({ ...dev, capacityMin, capacityMax })).toBe(max);
    },
  );

  it("that all logins may have together leave some to the owner and to RDS", () => {
    expect(sumOf(Object.values(shares))).toBe(95);
  });

  it.each(settings.databases)(
    "of $name are enough for what its functions reserve, and the alarm on them can fire",
    (database) => {
      const stages = settings.stages.filter((stage) => stage.database === database.name);
      for (const role of limitedRoles)
        expect([role, connectionsNeeded(role, stages) <= connectionsOf(role, database)]).toEqual([role, true]);
      expect(connectionsNeeded("public", stages)).toBeGreaterThan(0);
      expect(connectionsWatched(database)).toBeLessThan(
        sumOf(limitedRoles.map((role) => connectionsOf(role, database))),
      );
      // Each execution may hold two.
      expect(connectionsWatched(database)).toBeLessThan(2 * (settings.account.concurrency ?? 0));
    },
  );
});
