import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { and, arrayContains, count, eq, gt, inArray, relations, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/aws-data-api/pg";
import { migrate } from "drizzle-orm/aws-data-api/pg/migrator";
import * as pg from "drizzle-orm/pg-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Emulator, startEmulator } from "../../test/emulator.ts";

const authors = pg.pgTable("authors", {
  id: pg.serial().primaryKey(),
  name: pg.text().notNull().unique(),
  big: pg.bigint({ mode: "number" }),
  price: pg.numeric({ precision: 8, scale: 2 }),
  half: pg.doublePrecision(),
  isLiving: pg.boolean(),
  code: pg.uuid(),
  doc: pg.jsonb(),
  day: pg.date(),
  hour: pg.time(),
  seen: pg.timestamp({ withTimezone: true, mode: "string" }),
  tags: pg.text().array(),
});
const books = pg.pgTable("books", { author: pg.integer().notNull(), title: pg.varchar({ length: 40 }).notNull() });
const schema = {
  authors,
  books,
  ofAuthors: relations(authors, ({ many }) => ({ books: many(books) })),
  ofBooks: relations(books, ({ one }) => ({ of: one(authors, { fields: [books.author], references: [authors.id] }) })),
};

const migration = `create table authors (id serial primary key, name text not null unique, big bigint,
  price numeric(8, 2), half double precision, "isLiving" boolean, code uuid, doc jsonb, day date,
  hour time, seen timestamp with time zone, tags text[]);
--> statement-breakpoint
create table books (author integer not null, title varchar(40) not null);`;
const entries = [{ idx: 0, version: "7", when: 1, tag: "0000_all", breakpoints: true }];

const ada = {
  name: "Ada",
  big: 9007199254740991,
  price: "19.90",
  half: 0.5,
  isLiving: false,
  code: "8c3f7f3a-2f5d-4c2e-9a39-3f1bb2c7e0a1",
  doc: { a: [1, { b: null }] },
  day: "2026-11-21",
  hour: "10:15:00",
  seen: "2026-11-21 10:15:00.123456",
};

const open = () => drizzle(emulator.client, { ...emulator.target, schema });
let emulator: Emulator;
let db: ReturnType<typeof open>;
let migrationsFolder: string;

beforeAll(async () => {
  emulator = await startEmulator();
  db = open();
  migrationsFolder = await mkdtemp(join(tmpdir(), "drizzle-"));
  await mkdir(join(migrationsFolder, "meta"));
  await writeFile(join(migrationsFolder, "meta/_journal.json"), JSON.stringify({ version: "7", entries }));
  await writeFile(join(migrationsFolder, "0000_all.sql"), migration);
  await migrate(db, { migrationsFolder });
  await db.insert(authors).values([ada, { name: "Ben" }]);
  await db.insert(books).values(["One", "Two"].map((title) => ({ author: 1, title })));
});

afterAll(async () => {
  await emulator.stop();
  await rm(migrationsFolder, { recursive: true });
});

const { id, name, half, tags, doc } = authors;
const names = (...conditions: Parameters<typeof and>) =>
  db
    .select({ name })
    .from(authors)
    .where(and(...conditions));
const add = (name: string, to: Pick<typeof db, "insert"> = db) => to.insert(authors).values({ name });
const everywhere = () => [eq(authors.day, ada.day), eq(authors.code, ada.code), gt(authors.price, "19.5")];

async function countMigrations() {
  await migrate(db, { migrationsFolder });
  return (await db.execute(sql`select count(*) as n from drizzle.__drizzle_migrations`)).rows;
}

async function nest() {
  await db.transaction(async (outer) => {
    await add("Outer", outer);
    const inner = outer.transaction(async (inner) => {
      await add("Inner", inner);
      inner.rollback();
    });
    await inner.catch(() => {});
  });
  return names(inArray(name, ["Outer", "Inner"]));
}

async function fail() {
  const failing = db.transaction(async (transaction) => {
    await add("Undone", transaction);
    await add("Ada", transaction);
  });
  await failing.catch(() => {});
  return names(eq(name, "Undone"));
}

const duplicate = 'ERROR: duplicate key value violates unique constraint "authors_name_key"; SQLState: 23505';

const ben = () => names(eq(id, sql.placeholder("id"))).prepare("ben");
const upsert = () => add("Ben").onConflictDoUpdate({ target: name, set: { half: 2.5 } });
const updateCy = (set: object) => db.update(authors).set(set).where(eq(name, "Cy"));
const related = { author: 1, title: "One", of: { name: "Ada" } };

describe("Drizzle", () => {
  it.each<[string, () => PromiseLike<unknown>, unknown]>([
    ["reads every type", () => db.select().from(authors).where(eq(id, 1)), [{ id: 1, ...ada, tags: null }]],
    ["reads NULL", () => db.select({ half, doc }).from(authors).where(eq(id, 2)), [{ half: null, doc: null }]],
    ["compares by types", () => names(...everywhere()), [{ name: "Ada" }]],
    ["selects in a list", () => names(inArray(id, [1, 2])).orderBy(id), [{ name: "Ada" }, { name: "Ben" }]],
    ["limits and skips", () => names().orderBy(id).limit(1).offset(1), [{ name: "Ben" }]],
    ["counts by groups", () => db.select({ n: count() }).from(books).groupBy(books.author), [{ n: 2 }]],
    [
      "joins",
      () => db.select({ name }).from(books).leftJoin(authors, eq(books.author, id)).limit(1),
      [{ name: "Ada" }],
    ],
    ["relates", () => db.query.books.findFirst({ with: { of: { columns: { name: true } } } }), related],
    ["prepares", () => ben().execute({ id: 2 }), [{ name: "Ben" }]],
    ["runs SQL", async () => (await db.execute(sql`select ${1}::int + 1 as n`)).rows, [{ n: 2 }]],
    ["inserts, returning", () => add("Cy").returning({ half }), [{ half: null }]],
    ["updates, returning", () => updateCy({ doc: ["x"] }).returning({ doc }), [{ doc: ["x"] }]],
    ["sets an array", () => updateCy({ tags: sql`'{a,"b c"}'` }).returning({ tags }), [{ tags: ["a", "b c"] }]],
    ["finds in an array", () => names(arrayContains(tags, sql`'{"b c"}'::text[]`)), [{ name: "Cy" }]],
    ["updates on a conflict", () => upsert().returning({ half }), [{ half: 2.5 }]],
    ["counts deleted", async () => (await db.delete(authors).where(eq(name, "Cy"))).numberOfRecordsUpdated, 1],
    ["migrates once", countMigrations, [{ n: 1 }]],
    ["undoes a transaction that fails", fail, []],
    ["undoes a part of a transaction", nest, [{ name: "Outer" }]],
    ["tells the error of the database", () => add("Ada").then(undefined, ({ cause }) => cause.message), duplicate],
  ])("%s", async (_, call, expected) => {
    expect(await call()).toEqual(expected);
  });
});
