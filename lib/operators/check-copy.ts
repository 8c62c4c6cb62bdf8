import sql from "sql-template-tag";
import { getContributor } from "../contract/contributors.ts";
import { problemOf } from "../contract/expected-response.ts";
import { execute, integer, sqlStateOf, type Target, textOrNull } from "../data-api/client.ts";
import * as contributors from "../queries/contributors.ts";
import * as copies from "../queries/copies.ts";
import type { OperatorPayload } from "./payloads.ts";

export interface CopyChecks extends Pick<OperatorPayload<"ops/check-copy">, "knownContributor" | "hours"> {
  readonly copy: Target;
  /** The database that runs, by the login of operators' functions. */
  readonly live: Target;
  readonly deadline: number;
}

/** A copy may have fewer rows than the live database, which has gone on, but not many. */
const shareMin = 0.9;
const tableMissing = "42P01";

/** What is wrong with a restored copy of the database, by the service's own statements. */
export async function problemsOf(checks: CopyChecks): Promise<string[]> {
  try {
    return [await problemOfRecord(checks), ...(await problemsOfRows(checks))].filter((each) => each !== undefined);
  } catch (error) {
    if (sqlStateOf(error) !== tableMissing) throw error;
    return ["The copy is empty: it has not even tables"];
  }
}

/** What visitors get from the endpoint `contributor/slug`. */
async function problemOfRecord({ copy, knownContributor, deadline }: CopyChecks): Promise<string | undefined> {
  const select = sql`select cast(body as text) from (${contributors.find(knownContributor)}) as record`;
  const [row] = await execute(select, deadline, copy);
  if (!row) return `The copy has no contributor ${knownContributor}`;
  const problem = problemOf(getContributor, { status: 200, text: textOrNull(row, 0) ?? "" }, [200]);
  return problem && `The contributor ${knownContributor} is ${problem}`;
}

/** Compares the numbers of rows, and the ledger up to the last change that the copy must have. */
async function problemsOfRows({ copy, live, hours, deadline }: CopyChecks): Promise<(string | undefined)[]> {
  const [newest] = await execute(copies.lastChangeBefore(hours), deadline, live);
  const id = newest ? integer(newest, 0) : 0;
  const facts = (target: Target) => execute(copies.facts(id), deadline, target);
  const [[found = []], [expected = []]] = await Promise.all([facts(copy), facts(live)]);
  const tooFew = ["contributors", "publishers", "series"].map((table, column) => {
    const [rows, liveRows] = [integer(found, column), integer(expected, column)];
    return rows < shareMin * liveRows ? `The copy has ${rows} ${table}, the live database ${liveRows}` : undefined;
  });
  const last = integer(found, 3);
  const tooOld = `The copy is too old: its ledger ends at ${last}, and ${id} was written more than ${hours} hours ago`;
  if (last !== id) return [...tooFew, tooOld];
  const isEqual = textOrNull(found, 4) === textOrNull(expected, 4);
  return [...tooFew, isEqual ? undefined : `The ledger differs before its change ${id}`];
}
