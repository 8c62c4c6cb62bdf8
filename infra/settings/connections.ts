import { readFileSync } from "node:fs";
import { functionName } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { routedEndpoints } from "../api/document.ts";
import { bundleOf } from "../api/whole-lists.ts";
import { databaseRoleOf, forEachRole, type LimitedRole } from "../build/database-role.ts";
import { concurrencyOf } from "./concurrency.ts";
import type { DatabaseSettings, StageSettings } from "./schema.ts";

/*
 * How many connections PostgreSQL accepts, how many each login may have of these, and how many its functions may hold:
 * the one place from which alarms and the checks of settings take these numbers.
 */

const roles = readFileSync(new URL("../../lib/migrations/roles.sql", import.meta.url), "utf8");

/** The percentage of all connections that each login may have. */
export const shares = forEachRole((role) => Number(new RegExp(`'colophon_${role}', .*, (\\d+)\\)`).exec(roles)?.[1]));

/**
 * PostgreSQL's `max_connections`, which Aurora derives from the largest capacity, and bounds for one that can shrink to
 * half an ACU or pause (Aurora, "Maximum connections for Aurora Serverless v2": 189 at 1 ACU, 823 at 4, 1,669 at 8, 3,360
 * at 16).
 */
export const connectionsMax = ({ capacityMin, capacityMax }: DatabaseSettings): number =>
  Math.min(capacityMin <= 0.5 ? 2_000 : 5_000, Math.floor(211.4 * capacityMax - 22));

/** The number of connections that a login may have, as lib/migrations/roles.sql computes it. */
export const connectionsOf = (role: LimitedRole, database: DatabaseSettings): number =>
  Math.floor((connectionsMax(database) * shares[role]) / 100);

/** So many open connections are an alarm: no load of ours needs them. */
export const connectionsWatched = (database: DatabaseSettings): number => Math.floor(connectionsMax(database) / 2);

/** A statement holds its connection until it ends, also after its request has given up, while the next request sends another. */
const statementsPerExecution = 2;

/** The number of connections that functions with reserved concurrency may hold as a login, on all stages of a database. */
export const connectionsNeeded = (role: LimitedRole, stages: readonly StageSettings[]): number =>
  stages
    .flatMap((stage) => routedEndpoints(endpoints, stage).map((declaration) => ({ stage, declaration })))
    .filter(({ declaration }) => databaseRoleOf(bundleOf(functionName(declaration))) === role)
    .reduce((sum, { stage, declaration }) => sum + (concurrencyOf(declaration, stage) ?? 0), 0) *
  statementsPerExecution;
