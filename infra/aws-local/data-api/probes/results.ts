import { bySource, column, execute, probe, row, scenario, updated } from "./probe.ts";
import * as source from "./sources.ts";

export const results = bySource({
  [source.executeStatement]: [
    probe("no rows", "select * from probed.shelf where false", { records: [] }),
    probe("columns that share a label", "select 1 as a, 2 as a", row(1, 2)),
    probe("rows in order", "select generate_series(3, 1, -1)", column(3, 2, 1)),
    scenario(
      "numbers of updated records",
      execute("insert into probed.counted values (1), (2)", { ...updated(2), generatedFields: [] }),
      execute("update probed.counted set id = 3 where id = 1", updated(1)),
      execute("update probed.counted set id = 4 where id = 1", updated(0)),
      execute("merge into probed.counted c using (values (3)) v (n) on c.id = n when matched then delete", updated(1)),
      execute("delete from probed.counted", updated(1)),
    ),
    probe("DDL", "create table probed.made (id int)", updated(0)),
    probe("returning", "insert into probed.plain values (-1, null) returning *", row(-1, null)),
    probe("values", "values (1, 'a')", row(1, "a")),
    probe("a common table expression", "with n as (select 1 as id) select * from n", row(1)),
    probe("show", "show server_encoding", row("UTF8")),
    probe("explain", "explain (costs off) select 1", column("Result")),
  ],
  [source.flociTests]: [probe("a select updates none", "select 1", { numberOfRecordsUpdated: 0 })],
});
