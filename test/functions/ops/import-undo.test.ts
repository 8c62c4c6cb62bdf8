import { beforeEach, describe, expect, it, vi } from "vitest";
import { values } from "../../support/database.ts";
import { operate } from "../../support/operate.ts";
import { useStack } from "../../support/stack.ts";
import { latestChange, undo } from "../../support/undo.ts";

const stack = useStack();

const people = Array.from({ length: 300 }, (_, number) => ({
  kind: "contributor",
  externalId: `c${number}`,
  first_name: `Number ${number}`,
  gender: null as string | null,
}));
const importing = (lines: readonly object[]) =>
  operate(stack, "ops-import", { source: lines.map((line) => JSON.stringify(line)).join("\n") });

const importChanges = (): Promise<number[]> =>
  values(stack.sql`select id from changes where import_id is not null order by id desc`);
const count = async () => (await stack.sql`select from contributors`).length;

beforeEach(() => stack.sql`truncate contributors, imports, changes, history, counters cascade`);

describe("An import of several batches", () => {
  it("is not taken back with the file's next import", async () => {
    await importing(people);
    await stack.sql`update contributors set gender = 'edited' where external_id = 'c150'`;
    await importing(people);
    const [again = 0] = await importChanges();

    expect(await undo(stack, { import: again })).toMatchObject({ undone: [{ change: again }], isDone: true });

    expect(await values(stack.sql`select external_id from contributors where gender = 'edited'`)).toEqual(["c150"]);
  });

  it("is taken back by any of its changes, but for what has changed since", async () => {
    await importing(people);
    await stack.sql`update contributors set gender = 'edited' where external_id = 'c150'`;
    const editing = await latestChange(stack.sql);
    const [third = 0, second = 0, first = 0] = await importChanges();

    const result = await undo(stack, { import: second });

    expect(result).toMatchObject({ undone: [{ change: third, what: [] }, { change: first }], isDone: true });
    const differing = [{ now: { gender: "edited" }, later: { change: editing } }];
    expect(result.refused).toMatchObject([{ change: second, differing }]);
    expect(await count()).toBe(125);
  });

  it("is taken back wholly once what has changed since is taken back", async () => {
    await importing(people);
    await stack.sql`update contributors set gender = 'edited' where external_id = 'c150'`;
    const editing = await latestChange(stack.sql);
    const [, second = 0, first = 0] = await importChanges();
    await undo(stack, { import: second });

    expect(await undo(stack, { change: editing })).toMatchObject({ undone: [{ change: editing }] });
    expect(await undo(stack, { import: first })).toMatchObject({ undone: [{ change: second }] });

    expect(await count()).toBe(0);
    expect(await undo(stack, { import: second })).toMatchObject({ undone: [], isDone: true });
  });

  it("is tried as a whole", async () => {
    await importing(people);
    const changes = await importChanges();

    const tried = await undo(stack, { import: changes[1], dryRun: true });

    expect(tried).toMatchObject({ undone: changes.map((change) => ({ change })), refused: [], isDone: true });
    expect(await count()).toBe(300);
  });

  it("is ended and taken back with the batch that was under way, and can begin anew", async () => {
    await stack.sql`insert into contributors (first_name, slug, external_id) values ('Last', 'last', 'c275')`;
    const lines = [
      ...people,
      ...people.map((line) => ({ ...line, externalId: `d${line.externalId}`, last_name: "B" })),
    ];
    const waiting = async (relation: string) => {
      const rows = await stack.sql.query<[]>(`
        select from pg_locks join pg_stat_activity using (pid)
        where datname = current_database() and not granted and ${relation}
      `);
      return rows.length > 0;
    };
    const runs = await stack.sql.begin(async (tx) => {
      await tx`select from contributors where external_id = 'c275' for update`;
      const ended = importing(lines);
      await vi.waitUntil(() => waiting("relation is null"), { timeout: 60_000 });
      const undoing = undo(stack, { import: (await importChanges())[0] });
      await vi.waitUntil(() => waiting("relation = 'change_lock'::regclass"), { timeout: 60_000 });
      return { ended, undoing };
    });

    await expect(runs.ended).rejects.toThrow("ops-undo has taken this import back");
    expect(await runs.undoing).toMatchObject({ undone: [{}, {}, {}], refused: [], isDone: true });
    expect(await stack.sql`select first_name from contributors`).toEqual([{ first_name: "Last" }]);
    expect(await importing(lines)).toMatchObject({ added: 599, isDone: true });
  });
});

it("An import whose lines hand names on is taken back", async () => {
  const line = (number: number, first_name: string) => ({ kind: "contributor", externalId: `c${number}`, first_name });
  const numbers = Array.from({ length: 30 }, (_, place) => (place * 7) % 30);
  const names = () => values(stack.sql`select first_name from contributors order by id`);
  await importing(numbers.map((_, number) => line(number, `Number ${number}`)));
  const before = await names();
  const handedOn = numbers.map((number, place) => line(number, `Number ${numbers[place - 1] ?? "none"}`));
  expect(await importing(handedOn)).toMatchObject({ changed: 30 });

  expect(await undo(stack, { import: (await importChanges())[0] })).toMatchObject({ refused: [], isDone: true });

  expect(await names()).toEqual(before);
});
