import type { Limits } from "../limits.ts";
import {
  after,
  begin,
  bySource,
  column,
  commit,
  databaseError,
  done,
  execute,
  meanwhile,
  notFound,
  probe,
  refused,
  rollback,
  row,
  scenario,
  timedOut,
  transaction,
  within,
} from "./probe.ts";
import * as source from "./sources.ts";

const note = (text: string) => `insert into probed.note values ('${text}')`;
const noted = (note: string, count: number) =>
  execute(`select count(*) from probed.note where text = '${note}'`, row(count));

const busy = databaseError("Transaction is still running a query");
const aborted = refused("25P02", "current transaction is aborted, commands ignored until end of transaction block");
const gone = notFound(/^Transaction t is not found/);
const committed = { transactionStatus: "Transaction Committed" };
const rolledBack = { transactionStatus: "Rollback Complete" };
const serializable = (name: string) => [
  begin(done, name),
  within(execute("set transaction isolation level serializable"), name),
  within(execute("select count(*) from probed.serial"), name),
];

export const transactions = bySource({
  [source.beginTransaction]: [
    scenario("an id of at most 192 characters", begin({ transactionId: /^[\w+/=-]{20,192}$/ })),
    transaction("a commit", note("kept"), noted("kept", 0), commit(committed), noted("kept", 1)),
    transaction("a rollback", note("undone"), rollback(rolledBack), noted("undone", 0)),
    transaction("two", begin(done, "u"), note("own"), within(noted("own", 0), "u"), within(noted("own", 1))),
  ],
  [source.vump]: [
    transaction(
      "a new table",
      "create table probed.passing ()",
      rollback(),
      execute("table probed.passing", refused("42P01")),
    ),
    transaction(
      "a changed table",
      "alter table probed.altered rename a to b",
      ["select b from probed.altered", column()],
      rollback(),
      execute("select a from probed.altered", column()),
    ),
  ],
  [source.troubleshooting]: [
    transaction("after its commit", commit(), ["select 1", gone], commit(gone), rollback(gone)),
    transaction("after its rollback", rollback(), ["select 1", gone], commit(gone), rollback(gone)),
  ],
  [source.differences]: [
    transaction(
      "a second call at the same time",
      meanwhile(within(execute("select pg_sleep(1.5)::text"))),
      after(400, within(execute("select 1", busy))),
      commit(busy),
      after(1_600, rollback(rolledBack)),
    ),
  ],
  [source.proxyErrors]: [
    transaction(
      "after an error",
      note("lost"),
      ["select 1/0", refused("22012")],
      ["select 1", aborted],
      rollback(rolledBack),
      noted("lost", 0),
    ),
  ],
  [source.pythonClient]: [
    transaction(
      "a commit after an error",
      note("failed"),
      ["select 1/0", refused("22012")],
      commit(),
      noted("failed", 0),
    ),
  ],
  [source.proxyNotes]: [
    transaction(
      "savepoints",
      "savepoint here",
      ["select 1/0", refused("22012")],
      "rollback to here",
      "release here",
      note("saved"),
      commit(committed),
      noted("saved", 1),
    ),
    transaction("cursors", "declare c cursor for select generate_series(1, 5)", ["fetch 2 from c", column(1, 2)]),
    transaction("settings", "set local work_mem = '5MB'", ["show work_mem", row("5MB")]),
    transaction("temporary tables", "create temporary table s on commit drop as select 7", ["table s", row(7)]),
    transaction("prepared statements", "prepare p as select 8", ["execute p", row(8)], "deallocate p"),
    transaction("timestamptz in another time zone", "set local time zone 'Asia/Kathmandu'", [
      "select '2023-12-31 22:00:00.000001Z'::timestamptz",
      row("2023-12-31 22:00:00.000001"),
    ]),
    transaction("timestamptz in a time zone to the west", "set local time zone 'America/St_Johns'", [
      "select '2024-01-01 01:00:00Z'::timestamptz",
      row("2024-01-01 01:00:00"),
    ]),
  ],
  [source.blocks]: [
    scenario(
      "a serialization failure at the commit",
      ...serializable("t"),
      ...serializable("u"),
      within(execute("insert into probed.serial values (1)")),
      within(execute("insert into probed.serial values (2)"), "u"),
      commit(committed),
      commit(
        databaseError(/^ERROR: could not serialize .*; Hint: The transaction might succeed .*; SQLState: 40001$/),
        "u",
      ),
    ),
  ],
  [source.postgres]: [
    transaction("read only", "set transaction read only", [
      note("never"),
      refused("25006", "cannot execute INSERT in a read-only transaction"),
    ]),
    transaction("a type of its own", "create type probed.own as enum ('a')", ["select 'a'::probed.own", row("a")]),
  ],
});

/** Each takes a little more than the limit that it is about. */
export const timeOuts = ({
  statementTimeoutInMilliseconds: statement,
  transactionIdleInMilliseconds: idle,
}: Limits) => {
  const sleep = `select pg_sleep(${(statement * 1.5) / 1000})::text`;
  return bySource({
    [source.executeStatement]: [
      probe("a statement", sleep, timedOut),
      transaction("a statement in a transaction", [sleep, timedOut]),
      scenario(
        "a statement that goes on",
        execute(`insert into probed.late ${sleep}`, timedOut, { continueAfterTimeout: true }),
        after(statement, execute("select count(*) from probed.late", row(1))),
      ),
    ],
    [source.beginTransaction]: [
      transaction(
        "too long idle",
        note("idle"),
        after(idle * 1.2, within(execute("select 1", gone))),
        noted("idle", 0),
      ),
    ],
  });
};
