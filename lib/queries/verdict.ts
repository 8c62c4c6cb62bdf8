import sql from "sql-template-tag";

/** Whether a part that writes may do so: the statement's own `verdict` says 200. */
export const allowed = sql`exists (select from verdict where status = 200)`;
