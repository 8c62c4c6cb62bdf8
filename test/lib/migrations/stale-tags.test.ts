import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { identifier, openDatabase, type Sql } from "../../support/database.ts";

/* The cache tags that a transaction leaves, written by a program that knows nothing of them. */

const database = `tags_${randomUUID().replaceAll("-", "")}`;
/** Its role: it may write the catalogue, and has no right to `stale_tags`. */
const program = identifier(`program_${randomUUID().replaceAll("-", "")}`);
const admin = openDatabase(`${inject("databaseUrl")}/postgres`, { max: 1 });
let sql: Sql;

/** Contributors 1 and 2 are published, 3 and 4 are not. 2 names 1, which names 3, which names 2. */
const catalogue = `
  insert into clients values (1, 'First');
  insert into contributors (id, first_name, slug, public) overriding system value
  values (1, 'Ann', 'ann', true), (2, 'Ben', 'ben', true), (3, 'Cat', 'cat', false), (4, 'Dan', 'dan', false);
  insert into contributor_aliases (contributor_id, name) values (1, 'Annie'), (3, 'Kitty');
  insert into contributor_descriptions (contributor_id, language, description)
  values (1, 'English', 'Writes'), (3, 'English', 'Draws');
  insert into contributor_links (contributor_id, position, url) values (1, 0, 'https://ann.example');
  insert into contributor_relations (contributor_id, relation_id, relation_type)
  values (2, 1, 'friend'), (1, 3, 'friend'), (3, 2, 'friend');
  insert into publishers (id, name, slug) overriding system value
  values (1, 'One', 'one'), (2, 'Two', 'two'), (3, 'Three', 'three');
  insert into publisher_aliases (publisher_id, title, language) values (1, 'Uno', 'Italian');
  insert into publisher_descriptions (publisher_id, language, description) values (1, 'English', 'Prints');
  insert into publisher_relations (publisher_id, relation_id, type) values (2, 1, 'imprint');
  insert into series (id, name, slug) overriding system value values (1, 'First', 'first'), (2, 'Second', 'second');
  insert into series_aliases (series_id, name, language) values (1, 'Erste', 'German');
  insert into series_descriptions (series_id, language, description) values (1, 'English', 'Long');
  insert into tags (id, name) overriding system value values (1, 'Long'), (2, 'Short');
  insert into series_tags (series_id, tag_id) values (1, 1);
  insert into volumes (series_id, number) values (1, 1);
  insert into series_contributors (contributor_id, series_id) values (1, 1), (3, 2);
  insert into series_publishers (publisher_id, series_id) values (1, 1);
`;

beforeAll(async () => {
  await admin`create database ${identifier(database)} template blank`;
  await admin`create role ${program}`;
  sql = openDatabase(`${inject("databaseUrl")}/${database}`);
  await sql.query(catalogue);
  await sql`delete from stale_tags`;
  await sql`grant all on all tables in schema public to ${program}`;
  await sql`revoke all on stale_tags from ${program}`;
  await sql`grant execute on all functions in schema public to ${program}`;
});

afterAll(async () => {
  await sql.end();
  await admin`drop database ${identifier(database)} with (force)`;
  await admin`drop role ${program}`;
  await admin.end();
});

class Undone extends Error {}

/** The tags that the program's statements leave, before all is undone. */
async function tagsOf(statements: string): Promise<string> {
  let tags = "";
  await undone(async (transaction) => {
    await transaction`set local role ${program}`;
    await transaction.query(statements);
    await transaction`reset role`;
    tags = await tagsIn(transaction);
  });
  return tags;
}

async function undone(work: (transaction: Sql) => Promise<void>): Promise<void> {
  try {
    await sql.begin(async (transaction) => {
      await work(transaction);
      throw new Undone();
    });
  } catch (error) {
    if (!(error instanceof Undone)) throw error;
  }
}

async function tagsIn(transaction: Sql): Promise<string> {
  const rows = await transaction`select tag from stale_tags where transaction = pg_current_xact_id() order by tag`;
  return rows.map(({ tag }) => tag).join(" ");
}

const nothing = "";
const both = (id: number) => `contributor-${id} contributors`;
const addContributors = "insert into contributors (id, first_name, slug, public) overriding system value";

/** Each statement with its tags. */
const cases: Readonly<Record<string, readonly (readonly [statement: string, tags: string])[]>> = {
  contributors: [
    [`${addContributors} values (9, 'Eve', 'eve', true)`, both(9)],
    [`${addContributors} values (9, 'Eve', 'eve', false)`, nothing],
    [`${addContributors} select 9, 'Eve', 'eve', true where false`, nothing],
    [`${addContributors} values (1, 'Ann', 'ann', true) on conflict do nothing`, nothing],
    [`${addContributors} values (1, 'x', 'x', true) on conflict (id) do update set gender = 'female'`, both(1)],
    [
      `merge into contributors using (values (1), (3)) as given (n) on id = n
      when matched and n = 1 then update set gender = 'female' when matched then delete`,
      both(1),
    ],
    ["update contributors set first_name = 'Anna' where id = 1", both(1)],
    ["update contributors set last_name = 'A' where id = 1", both(1)],
    ["update contributors set slug = 'anna' where id = 1", both(1)],
    ["update contributors set gender = 'female' where id = 1", both(1)],
    ["update contributors set image = 'a.webp' where id = 1", both(1)],
    ["update contributors set client_id = 1 where id = 1", both(1)],
    ["update contributors set gender = 'x' where id < 3", "contributor-1 contributor-2 contributors"],
    ["update contributors set first_name = 'Kate', image = 'c.webp' where id = 3", nothing],
    [
      "update contributors set version = 7, type = 'x', random_key = 0, alias_keys = 'x', short_alias_keys = 'x'",
      nothing,
    ],
    ["update contributors set first_name = first_name", nothing],
    ["update contributors set first_name = 'x' where false", nothing],
    // Records that name them have one of these tags, too.
    ["update contributors set public = true where id = 3", both(3)],
    ["update contributors set public = false where id = 1", both(1)],
    ["update contributors set public = false where id = 2", both(2)],
    ["update contributors set public = true where id = 4", both(4)],
    // All that is theirs goes with them.
    ["delete from contributors where id = 1", "contributor-1 contributor-2 contributors"],
    ["delete from contributors where id = 4", nothing],
    ["delete from contributors where id = 99", nothing],
    ["truncate contributors cascade", "everything"],
  ],
  "contributors' elements": [
    ["insert into contributor_aliases (contributor_id, name) values (1, 'A')", both(1)],
    ["insert into contributor_aliases (contributor_id, name) values (3, 'A')", nothing],
    ["update contributor_aliases set name = 'A' where contributor_id = 1", both(1)],
    [
      "update contributor_aliases set contributor_id = 2 where contributor_id = 1",
      "contributor-1 contributor-2 contributors",
    ],
    ["update contributor_aliases set name = name", nothing],
    ["update contributor_aliases set name = 'A' where contributor_id = 3", nothing],
    ["delete from contributor_aliases where contributor_id = 1", both(1)],
    ["delete from contributor_aliases where contributor_id = 3", nothing],
    ["truncate contributor_aliases", "everything"],
    [
      "insert into contributor_descriptions (contributor_id, language, description) values (1, 'a', 'b')",
      "contributor-1",
    ],
    ["update contributor_descriptions set source = 'A'", "contributor-1"],
    ["update contributor_descriptions set source = source", nothing],
    ["delete from contributor_descriptions", "contributor-1"],
    ["delete from contributor_descriptions where contributor_id = 3", nothing],
    ["insert into contributor_links (contributor_id, position, url) values (2, 0, 'http://b')", "contributor-2"],
    ["update contributor_links set position = 7", "contributor-1"],
    ["update contributor_links set url = url", nothing],
    ["delete from contributor_links", "contributor-1"],
    ["delete from contributor_links where contributor_id = 2", nothing],
  ],
  relations: [
    [
      "insert into contributor_relations (contributor_id, relation_id, relation_type) values (1, 2, 'x')",
      "contributor-1 contributor-2",
    ],
    // Whoever is published meanwhile appears there.
    [
      "insert into contributor_relations (contributor_id, relation_id, relation_type) values (1, 4, 'x')",
      "contributor-1",
    ],
    ["insert into contributor_relations (contributor_id, relation_id, relation_type) values (4, 1, 'x')", nothing],
    ["update contributor_relations set relation_type = 'x' where contributor_id = 2", "contributor-1 contributor-2"],
    ["update contributor_relations set relation_type = relation_type", nothing],
    ["update contributor_relations set relation_type = 'x' where contributor_id = 3", nothing],
    ["delete from contributor_relations", "contributor-1 contributor-2"],
    ["delete from contributor_relations where contributor_id = 3", nothing],
    ["insert into publisher_relations (publisher_id, relation_id, type) values (2, 3, 'x')", "publisher-2 publisher-3"],
    ["update publisher_relations set relation_id = 3", "publisher-1 publisher-2 publisher-3"],
    ["update publisher_relations set relation_id = relation_id", nothing],
    ["delete from publisher_relations", "publisher-1 publisher-2"],
  ],
  publishers: [
    [
      "insert into publishers (id, name, slug) overriding system value values (9, 'Nine', 'nine')",
      "publisher-9 publishers",
    ],
    ["update publishers set name = 'x' where id = 1", "publisher-1 publishers"],
    ["update publishers set image = 'x' where id = 1", "publisher-1 publishers"],
    ["update publishers set founding_date = '1900-01-01', headquarter = 'x' where id = 1", "publisher-1 publishers"],
    ["update publishers set name = name, random_key = 0, alias_keys = 'x'", nothing],
    ["delete from publishers where id = 1", "publisher-1 publisher-2 publishers"],
    ["delete from publishers where id = 99", nothing],
    ["truncate publishers cascade", "everything"],
    ["insert into publisher_aliases (publisher_id, title, language) values (2, 'x', 'y')", "publisher-2 publishers"],
    ["update publisher_aliases set language = 'y'", "publisher-1 publishers"],
    ["update publisher_aliases set title = title", nothing],
    ["delete from publisher_aliases", "publisher-1 publishers"],
    ["insert into publisher_descriptions (publisher_id, language, description) values (2, 'x', 'y')", "publisher-2"],
    ["update publisher_descriptions set description = 'y'", "publisher-1"],
    ["update publisher_descriptions set description = description", nothing],
    ["delete from publisher_descriptions", "publisher-1"],
  ],
  "series and what hangs on them": [
    ["insert into series (id, name, slug) overriding system value values (9, 'x', 'x')", "series"],
    ["update series set type = 'x' where id = 1", "series"],
    ["update series set name = name, alias_keys = 'x'", nothing],
    ["delete from series where id = 2", "series"],
    ["delete from series where id = 99", nothing],
    ["truncate series cascade", "everything"],
    ["insert into series_aliases (series_id, name, language) values (2, 'x', 'y')", "series"],
    ["update series_aliases set language = 'x'", "series"],
    ["update series_aliases set name = name", nothing],
    ["delete from series_aliases", "series"],
    ["insert into series_descriptions (series_id, language, description) values (2, 'x', 'y')", "series"],
    ["update series_descriptions set description = 'x'", "series"],
    ["update series_descriptions set description = description", nothing],
    ["delete from series_descriptions", "series"],
    ["insert into series_tags (series_id, tag_id) values (2, 1)", "series"],
    ["update series_tags set tag_id = 2", "series"],
    ["update series_tags set tag_id = tag_id", nothing],
    ["delete from series_tags", "series"],
    ["insert into tags (id, name) overriding system value values (9, 'x')", "series"],
    ["update tags set name = 'x' where id = 1", "series"],
    ["update tags set name = name", nothing],
    ["delete from tags where id = 1", "series"],
    ["insert into volumes (series_id, number) values (1, 2)", "series"],
    ["update volumes set cover = 'x', nsfw = 1", "series"],
    ["update volumes set cover = cover", nothing],
    ["delete from volumes", "series"],
    ["insert into series_contributors (contributor_id, series_id) values (2, 1)", "series"],
    ["insert into series_contributors (contributor_id, series_id) values (4, 1)", nothing],
    ["update series_contributors set series_id = 2 where contributor_id = 1", "series"],
    ["update series_contributors set role = 'x'", nothing],
    ["delete from series_contributors where contributor_id = 1", "series"],
    ["delete from series_contributors where contributor_id = 3", nothing],
    ["insert into series_publishers (publisher_id, series_id) values (2, 1)", "series"],
    ["update series_publishers set publisher_id = 2", "series"],
    ["update series_publishers set publisher_id = publisher_id", nothing],
    ["delete from series_publishers", "series"],
  ],
  "what the public does not read": [
    ["insert into users (username, slug) values ('u', 'u'); update users set image = 'x'; delete from users", nothing],
    ["insert into roles (name) values ('r'); update permissions set description = 'x'", nothing],
    ["insert into images_to_remove (key) values ('x'); delete from images_to_remove", nothing],
    ["update tallies set tally = 0", nothing],
  ],
};

describe.each(Object.keys(cases))("Statements that write %s leave these tags", (kind) => {
  it.each(cases[kind] ?? [])("%s: %s", async (statement, tags) => {
    expect(await tagsOf(statement)).toBe(tags);
  });
});

describe("A transaction", () => {
  const many = (from: number, to: number, isPublic = true) =>
    `${addContributors} select n, 'n' || n, 'n' || n, ${isPublic} from generate_series(${from}, ${to}) as n;`;

  it("leaves each tag once", async () => {
    expect(await tagsOf("update contributors set gender = 'x' where id = 1;".repeat(2) + many(9, 9))).toBe(
      "contributor-1 contributor-9 contributors",
    );
  });

  it("leaves up to fifty tags, and instead of more the one for everything", async () => {
    expect((await tagsOf(many(101, 149))).split(" ")).toHaveLength(50);
    expect(await tagsOf(many(101, 150))).toBe("everything");
    expect(await tagsOf(`${many(101, 120)} ${many(121, 149)} delete from volumes; ${many(150, 160)}`)).toBe(
      "everything",
    );
    expect(await tagsOf(`${many(101, 149)} update contributors set gender = 'x' where id > 100`)).not.toBe(
      "everything",
    );
    expect(await tagsOf(`${many(1000, 9000)} ${many(10_000, 19_000)}`)).toBe("everything");
    expect(await tagsOf(many(1000, 9000, false))).toBe(nothing);
  });

  it("leaves everything for thousands of elements of many owners, not for those of one", async () => {
    const links = "insert into contributor_links (contributor_id, position, url)";
    expect(await tagsOf(`${links} select 2, n, 'http://n' from generate_series(1, 3000) as n`)).toBe("contributor-2");
    const relations = "insert into contributor_relations (contributor_id, relation_id, relation_type)";
    expect(await tagsOf(`${relations} select 1, 2, 'x' from generate_series(1, 3000)`)).toBe(
      "contributor-1 contributor-2",
    );
    expect(
      await tagsOf(`${many(101, 200, false)} ${relations} select id, id, 'x' from contributors where id > 100`),
    ).toBe(nothing);
    expect(
      await tagsOf(
        `${many(101, 200, false)} update contributors set public = true where id > 100; delete from volumes`,
      ),
    ).toBe("everything");
  });

  it("leaves nothing of what a savepoint has undone", async () => {
    const back = (statement: string) => `savepoint here; ${statement}; rollback to here;`;
    expect(await tagsOf(`delete from volumes; ${back("truncate series cascade")} delete from contributor_links`)).toBe(
      "contributor-1 series",
    );
    expect(await tagsOf(back("delete from volumes"))).toBe(nothing);
  });

  it("leaves what another program copies in", async () => {
    await undone(async (transaction) => {
      await transaction`copy series_tags (series_id, tag_id) from program 'echo 2,1' (format csv)`;
      expect(await tagsIn(transaction)).toBe("series");
    });
  });
});

describe("Two transactions", () => {
  const change = (transaction: Sql, id: number) => transaction`
    update contributors set gender = ${randomUUID()} where id = ${id}
  `;

  it("that change different contributors do not wait for each other, nor for whoever empties the table", async () => {
    await sql.begin(async (first) => {
      await change(first, 1);
      await sql.begin(async (second) => {
        await second`set local lock_timeout = '5s'`;
        await change(second, 2);
        await sql.begin(async (third) => {
          await third`set local lock_timeout = '5s'`;
          await third`delete from stale_tags`;
          await change(first, 1);
          await second`delete from volumes`;
        });
      });
    });

    const rows = await sql`select tag, count(distinct transaction) from stale_tags group by tag order by tag`;
    expect(rows.map(({ tag, count }) => `${tag} ${count}`)).toEqual([
      "contributor-1 1",
      "contributor-2 1",
      "contributors 2",
      "series 1",
    ]);
    await sql.query(`insert into volumes (series_id, number) values (1, 1); delete from stale_tags`);
  });
});

describe("While contributor 3 is published by a transaction, what another one writes about them", () => {
  const publish = "update contributors set public = true where id = 3";
  const writes: readonly (readonly [statement: string, tags: string])[] = [
    [
      "insert into contributor_descriptions (contributor_id, language, description) values (3, 'a', 'b')",
      "contributor-3",
    ],
    ["update contributor_descriptions set source = 'x' where contributor_id = 3", "contributor-3"],
    ["delete from contributor_descriptions where contributor_id = 3", "contributor-3"],
    ["update contributor_relations set relation_type = 'x' where contributor_id = 3", "contributor-2 contributor-3"],
    ["delete from contributor_relations where contributor_id = 3", "contributor-2 contributor-3"],
    ["delete from series_contributors where contributor_id = 3", "series"],
  ];

  it.each(writes)("is published with it, if it was first: %s", async (statement) => {
    await undone(async (writer) => {
      await writer.query(statement);
      const publishing = undone(async (publisher) => {
        await publisher`set local lock_timeout = '50ms'`;
        await publisher.query("update contributors set public = true where id = 4");
        await publisher.query(publish);
      });
      await expect(publishing).rejects.toMatchObject({ code: "55P03" });
    });
  });

  it.each(writes.slice(1))("leaves tags without waiting, if it came later: %s", async (statement, tags) => {
    await undone(async (publisher) => {
      await publisher.query(publish);
      expect(await tagsOf(`set local lock_timeout = '5s'; ${statement}`)).toBe(tags);
    });
  });

  it.each(writes)("leaves tags if it sees what was before: %s", async (statement) => {
    expect(await tagsOf(`set transaction isolation level repeatable read; ${statement}`)).not.toBe(nothing);
  });
});

describe("The migration", () => {
  const path = join(import.meta.dirname, "../../../lib/migrations/tables/0025-tag-changes.sql");

  /** Whether somebody waits for a lock of the table. */
  const isAwaited = async (table: string) =>
    (await sql`select from pg_locks where relation = ${table}::regclass and not granted`).length > 0;

  it("waits for a writer without being in the way of the tables that it writes next", async () => {
    const functions = await sql`
      select oid::regprocedure as name from pg_proc
      where pronamespace = 'public'::regnamespace and (proname ~ '^tag_' or proname in ('add_stale_tags', 'is_being_published'))
    `;
    for (const { name } of functions) await sql.query(`drop function ${name} cascade`);
    const text = await readFile(path, "utf8");
    let migration: Promise<unknown> = Promise.resolve();

    await sql.begin(async (writer) => {
      await writer`set local lock_timeout = '1s'`;
      await writer`update volumes set nsfw = 1`;
      migration = sql.query(`begin; set local lock_timeout = '30s'; ${text}; commit`);
      await expect.poll(() => isAwaited("volumes"), { timeout: 10_000, interval: 20 }).toBe(true);
      await writer`update series set type = 'x'`;
      await writer`update contributors set type = 'x'`;
    });
    await migration;

    expect(await tagsOf("delete from volumes")).toBe("series");
  });
});
