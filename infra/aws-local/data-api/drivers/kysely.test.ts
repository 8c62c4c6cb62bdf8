import { RDSData } from "@aws-sdk/client-rds-data";
import { type Generated, Kysely, type Migration, Migrator, sql } from "kysely";
import { DataApiDialect } from "kysely-data-api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Emulator, key, startEmulator } from "../../test/emulator.ts";

interface Person {
  id: Generated<number>;
  name: string;
  big: number | null;
  price: string | null;
  half: number | null;
  isLiving: boolean | null;
  doc: unknown;
  seen: Date | null;
  bytes: Uint8Array | null;
  tags: string[] | null;
}

let emulator: Emulator;
let db: Kysely<{ person: Person; pet: { owner: number } }>;

const migrations: Record<string, Migration> = {
  person: {
    up: (db) =>
      db.schema
        .createTable("person")
        .addColumn("id", "serial", (column) => column.primaryKey())
        .addColumn("name", "varchar(40)", (column) => column.notNull().unique())
        .addColumn("big", "bigint")
        .addColumn("price", "numeric(8, 2)")
        .addColumn("half", "double precision")
        .addColumn("isLiving", "boolean")
        .addColumn("doc", "jsonb")
        .addColumn("seen", "timestamptz")
        .addColumn("bytes", "bytea")
        .addColumn("tags", sql`text[]`)
        .execute(),
  },
  pet: {
    up: async (db) => {
      await db.schema.createTable("pet").addColumn("owner", "integer").execute();
      await sql`insert into pet values (1)`.execute(db);
    },
    down: (db) => db.schema.dropTable("pet").execute(),
  },
};

beforeAll(async () => {
  emulator = await startEmulator();
  const client = new RDSData({ endpoint: emulator.api.url, region: "eu-central-1", credentials: key });
  db = new Kysely({ dialect: new DataApiDialect({ mode: "postgres", driver: { client, ...emulator.target } }) });
});

afterAll(async () => {
  await db.destroy();
  await emulator.stop();
});

/** Kysely migrates in a transaction, behind an advisory lock. */
const migrator = () => new Migrator({ db, provider: { getMigrations: async () => migrations } });
const statuses = async (migrating: ReturnType<Migrator["migrateUp"]>) => {
  const { results, error } = await migrating;
  return error ?? results?.map(({ migrationName, direction, status }) => `${direction} ${migrationName}: ${status}`);
};

const seen = new Date("2026-11-21T10:15:00.123Z");
const bytes = new Uint8Array([0, 255]);
const ada = { name: "Ada", big: 9007199254740991, half: 0.5, isLiving: false, seen };
const values = { price: "19.90", doc: { a: [1] }, tags: ["a", "b c"] };
const literals = { price: sql<string>`19.90`, doc: sql`'{"a": [1]}'`, tags: sql<string[]>`'{a,"b c"}'` };

const people = () => db.selectFrom("person").select("name").orderBy("id");
const add = (name: string, to: Pick<typeof db, "insertInto"> = db) => to.insertInto("person").values({ name });
const update = (half: number) => db.updateTable("person").set({ half }).where("name", "in", ["Ben", "Cy"]);

async function transact(last: string) {
  const running = db.transaction().execute(async (transaction) => {
    await add(`Before ${last}`, transaction).execute();
    await add(last, transaction).execute();
  });
  await running.catch(() => {});
  return people().where("name", "=", `Before ${last}`).execute();
}

const duplicate = 'ERROR: duplicate key value violates unique constraint "person_name_key"; SQLState: 23505';

const addAda = () => db.insertInto("person").values({ ...ada, ...literals, bytes: Buffer.from(bytes) });
const upsert = () => add("Ben").onConflict((on) => on.column("name").doUpdateSet({ half: 3.5 }));
const amount = sql<number>`count(*)`.as("n");

describe("Kysely", () => {
  it.each<[string, () => Promise<unknown>, unknown]>([
    ["migrates", () => statuses(migrator().migrateToLatest()), ["Up person: Success", "Up pet: Success"]],
    ["migrates once", () => statuses(migrator().migrateToLatest()), []],
    ["migrates down", () => statuses(migrator().migrateDown()), ["Down pet: Success"]],
    ["migrates up again", () => statuses(migrator().migrateUp()), ["Up pet: Success"]],
    ["inspects tables", async () => (await db.introspection.getTables()).map(({ name }) => name), ["person", "pet"]],
    ["inserts, returning", () => addAda().returning("id").execute(), [{ id: 1 }]],
    ["reads every type", () => db.selectFrom("person").selectAll().execute(), [{ ...ada, id: 1, ...values, bytes }]],
    ["reads NULL", () => add("Ben").returning(["half", "tags"]).execute(), [{ half: null, tags: null }]],
    ["counts inserted", () => add("Cy").executeTakeFirst(), expect.objectContaining({ numInsertedOrUpdatedRows: 1n })],
    ["counts updated", () => update(2.5).executeTakeFirst(), expect.objectContaining({ numUpdatedRows: 2n })],
    ["counts deleted", () => db.deleteFrom("person").where("name", "=", "Cy").execute(), [{ numDeletedRows: 1n }]],
    ["updates on a conflict", () => upsert().returning("half").execute(), [{ half: 3.5 }]],
    ["joins", () => people().innerJoin("pet", "pet.owner", "person.id").execute(), [{ name: "Ada" }]],
    ["counts by groups", () => db.selectFrom("pet").select(amount).groupBy("owner").execute(), [{ n: 1 }]],
    ["limits and skips", () => people().limit(1).offset(1).execute(), [{ name: "Ben" }]],
    ["runs SQL", async () => (await sql`select ${"x"} || ${"y"} as xy`.execute(db)).rows, [{ xy: "xy" }]],
    ["keeps a transaction", () => transact("Last"), [{ name: "Before Last" }]],
    ["undoes a transaction that fails", () => transact("Ada"), []],
    [
      "tells the error of the database",
      () =>
        add("Ada")
          .execute()
          .catch(({ message }) => message),
      duplicate,
    ],
  ])("%s", async (_, call, expected) => {
    expect(await call()).toEqual(expected);
  });
});
