import fc from "fast-check";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { useAdministrator } from "../../support/callers.ts";
import { catalogueContents } from "../../support/catalogue-contents.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();
const administrator = useAdministrator(stack);

const textOf = (lines: readonly object[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join("");

async function invoke<Result>(name: string, payload: object): Promise<Result> {
  const invocation = await stack.lambda.invoke(name, payload);
  if ("error" in invocation) throw new Error(invocation.error.errorMessage);
  return invocation.result as Result;
}

const importing = (lines: readonly object[]) =>
  invoke<{ readonly added: number; readonly refusedCount: number }>("ops-import", { source: textOf(lines) });

const undone = (change: number) =>
  invoke<{ readonly undone: object[]; readonly conflicts: object[]; readonly refused: object[] }>("ops-undo", {
    change,
  });

const lastChanges = async () =>
  (await stack.sql<{ id: number }[]>`select id from changes where endpoint = 'ops/import' order by id desc`).map(
    ({ id }) => id,
  );

const pick = fc.constantFrom;
const name = fc.stringMatching(/^[A-Z][a-z]{2,6}$/);
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
const orNull = <Value>(value: fc.Arbitrary<Value>) => maybe(fc.option(value, { nil: null }));
const few = <Value>(element: fc.Arbitrary<Value>, selector?: (value: Value) => unknown) =>
  orNull(selector ? fc.uniqueArray(element, { maxLength: 4, selector }) : fc.array(element, { maxLength: 4 }));
const language = pick("English", "German", "Japanese");
const people = pick(...Array.from({ length: 8 }, (_, number) => `c${number}`));
const houses = pick("p0", "p1", "p2", "p3");
const client = orNull(pick(1, 2, 7));

/** Lines about few records, so that they meet. */
const line = fc.oneof(
  fc.record({ kind: fc.constant("client"), id: pick(7, 8), name }),
  fc.record({
    kind: fc.constant("publisher"),
    externalId: houses,
    client,
    name: maybe(name),
    short_name: orNull(name),
    website: orNull(pick("https://a.example", "https://b.example")),
    founding_date: orNull(pick("1909-12-31", "2000-02-29")),
    image_source: orNull(name),
    aliases: few(fc.record({ title: name, language })),
    descriptions: few(fc.record({ language, description: name, source: name })),
  }),
  fc.record({ kind: fc.constant("publisher-relation"), from: houses, to: houses, type: pick("imprint", "owner") }),
  fc.record({
    kind: fc.constant("contributor"),
    externalId: people,
    client,
    public: maybe(fc.boolean()),
    first_name: maybe(name),
    last_name: orNull(name),
    gender: orNull(pick("female", "male")),
    type: orNull(name),
    links: few(pick("https://a.example", "https://b.example", "https://c.example")),
    aliases: few(pick("Ann", "Bob", "Cid")),
    descriptions: few(fc.record({ language, description: pick("One", "Two"), source: pick("", "Us") })),
  }),
  fc.record({
    kind: fc.constant("contributor-relation"),
    from: people,
    to: people,
    relation_type: pick("friend", "spouse"),
  }),
  fc.record({
    kind: fc.constant("series"),
    externalId: pick("s0", "s1", "s2", "s3"),
    client,
    name: maybe(name),
    type: orNull(pick("manga", "novel")),
    origin: orNull(name),
    tags: few(pick("robots", "classic", "drama", "Classic")),
    aliases: few(fc.record({ name, language })),
    descriptions: few(fc.record({ language, description: name })),
    volumes: few(
      fc.record({
        number: fc.integer({ min: 1, max: 5 }),
        aspect_ratio: pick(0.5, 0.66, 0.7),
        nsfw: pick(0, 1),
      }),
      ({ number }) => number,
    ),
    contributors: few(
      fc.record({ contributor: people, role: orNull(pick("author", "artist")) }),
      ({ contributor }) => contributor,
    ),
    publishers: few(houses, (publisher) => publisher),
  }),
);
const file = fc.array(line, { minLength: 5, maxLength: 30 });

/** Enough that most lines are done. */
const basis = [
  ...["c0", "c1", "c2", "c3", "c4", "c5"].map((externalId) => ({
    kind: "contributor",
    externalId,
    first_name: `First ${externalId}`,
    aliases: ["Ann", "Ann", "Bob"],
  })),
  ...["p0", "p1", "p2"].map((externalId) => ({ kind: "publisher", externalId, name: `House ${externalId}` })),
  { kind: "series", externalId: "s0", name: "Series", tags: ["drama"], contributors: [{ contributor: "c0" }] },
];

describe("An import over any catalogue", () => {
  it("is taken back batch by batch, and leaves every row as it was", async () => {
    let done = 0;
    await fc.assert(
      fc.asyncProperty(file, fc.array(file, { minLength: 1, maxLength: 4 }), async (first, files) => {
        await stack.sql`truncate contributors, publishers, series, tags, imports, changes, tallies cascade`;
        await stack.sql`delete from clients where id > 2`;
        await importing([...basis, ...first]);
        const states = [await catalogueContents(stack.sql, "version")];
        await stack.sql`delete from changes`;
        for (const lines of files) {
          const changes = (await lastChanges()).length;
          await importing(lines);
          if ((await lastChanges()).length > changes) states.push(await catalogueContents(stack.sql, "version"));
        }

        const last = states.at(-1);
        const changes = await lastChanges();
        expect(changes).toHaveLength(states.length - 1);
        for (const change of changes) {
          expect(await catalogueContents(stack.sql, "version")).toEqual(states.pop());
          expect(await undone(change)).toMatchObject({ undone: [{}], conflicts: [], refused: [] });
          done += 1;
        }
        expect(await catalogueContents(stack.sql, "version")).toEqual(states.pop());

        // What was taken back is done again by taking that back.
        for (const change of changes.toReversed()) {
          const [{ id } = { id: 0 }] = await stack.sql<{ id: number }[]>`
            select id from changes where undoes = ${[change]}::bigint[] and undone_by is null
          `;
          expect(await undone(id)).toMatchObject({ undone: [{}], conflicts: [], refused: [] });
        }
        expect(await catalogueContents(stack.sql, "version")).toEqual(last);
      }),
      { numRuns: 12 },
    );
    expect(done).toBeGreaterThan(12);
  }, 300_000);

  describe("of several batches", () => {
    const people = Array.from({ length: 1_200 }, (_, number) => ({
      kind: "contributor",
      externalId: `c${number}`,
      first_name: `Number ${number}`,
      gender: null,
    }));
    const more = people.map((line) => ({
      ...line,
      externalId: `d${line.externalId}`,
      first_name: `${line.first_name} B`,
    }));
    const takingBack = (payload: object) =>
      invoke<{ readonly undone: readonly object[]; readonly conflicts: object[]; readonly isDone: boolean }>(
        "ops-undo",
        payload,
      );
    const count = async () => (await stack.sql`select from contributors`).length;

    beforeEach(() => stack.sql`truncate contributors, publishers, series, tags, imports, changes, tallies cascade`);

    it("is taken back by any of its changes, but not what the same file changed once more", async () => {
      await importing(people);
      await stack.sql`update contributors set gender = 'edited' where external_id = 'c7'`;
      await importing(people);
      const [again = 0, third = 0, second = 0, first = 0] = await lastChanges();

      expect(await takingBack({ import: again })).toMatchObject({ undone: [{ change: again }], isDone: true });
      expect(await stack.sql`select external_id from contributors where gender = 'edited'`).toEqual([
        { external_id: "c7" },
      ]);

      await stack.sql`update contributors set gender = null`;
      expect(await takingBack({ import: second })).toMatchObject({
        undone: [third, second, first].map((change) => ({ change, effects: [] })),
        conflicts: [],
        isDone: true,
      });
      expect(await count()).toBe(0);
      expect(await takingBack({ import: second })).toMatchObject({ undone: [], isDone: true });
    });

    it("leaves what has been changed since, and the rest is taken back", async () => {
      await importing(people);
      const [third = 0, second = 0, first = 0] = await lastChanges();
      await stack.sql`update contributors set gender = 'edited' where external_id = 'c700'`;

      const answer = await takingBack({ import: first });

      expect(answer).toMatchObject({ undone: [{ change: third }, { change: first }], isDone: true });
      expect(answer.conflicts).toMatchObject([{ change: second, field: "gender" }]);
      expect(await count()).toBe(500);
      expect(await takingBack({ import: first, force: true })).toMatchObject({ undone: [{ change: second }] });
      expect(await count()).toBe(0);
    });

    it("is tried only change by change, and only if it is an import", async () => {
      await importing(people);
      const [third = 0, second = 0] = await lastChanges();

      await expect(takingBack({ import: second, dryRun: true })).rejects.toThrow(`{"change": ${third}}`);
      await takingBack({ change: third });
      const [{ id } = { id: 0 }] = await stack.sql<{ id: number }[]>`select max(id) as id from changes`;
      await expect(takingBack({ import: id })).rejects.toThrow(`There is no change ${id} of an import`);
      expect(await count()).toBe(1_000);

      await importing(people.slice(0, 3).map((line) => ({ ...line, gender: "any" })));
      const [single = 0] = await lastChanges();
      expect(await takingBack({ import: single, dryRun: true })).toMatchObject({ undone: [{ change: single }] });
      expect(await stack.sql`select from contributors where gender = 'any'`).toHaveLength(3);
    });

    it("is taken back in a part that does not say to which import it belongs", async () => {
      await importing(people);
      const [third = 0, second = 0, first = 0] = await lastChanges();
      await stack.sql`update changes set asked = (asked::jsonb - 'begunAt')::json`;

      for (const change of [third, second, first])
        expect(await takingBack({ import: change })).toMatchObject({ undone: [{ change }], isDone: true });
      expect(await count()).toBe(0);
    });

    it("is ended, says so, and is taken back with the batch that was under way", async () => {
      await stack.sql`insert into contributors (first_name, slug, external_id) values ('Last', 'last', 'c1100')`;
      const waiting = (relation: string) =>
        stack.sql.query(`
          select from pg_locks join pg_stat_activity using (pid)
          where datname = current_database() and not granted and ${relation}
        `);
      const runs = await stack.sql.begin(async (tx) => {
        await tx`select from contributors where external_id = 'c1100' for update`;
        const ended = stack.lambda.invoke("ops-import", { source: textOf([...people, ...more]) });
        await vi.waitUntil(async () => (await waiting("relation is null")).length > 0, { timeout: 60_000 });
        const [last = 0] = await lastChanges();
        const undo = takingBack({ import: last });
        await vi.waitUntil(async () => (await waiting("relation = 'change_lock'::regclass")).length > 0, {
          timeout: 60_000,
        });
        return { ended, undo };
      });

      expect(await runs.undo).toMatchObject({ undone: [{}, {}, {}], conflicts: [], isDone: true });
      expect(await runs.ended).toMatchObject({
        error: { errorMessage: expect.stringMatching(/^ops-undo has taken this import back/) },
      });
      expect(await stack.sql`select first_name from contributors`).toEqual([{ first_name: "Last" }]);
    });

    it("begins anew when it is taken back halfway", async () => {
      await importing(people);
      const [third = 0, second = 0] = await lastChanges();
      await takingBack({ change: third });
      await stack.sql`
        update imports
        set is_done = false, lines = 1000, key = null, position = ${textOf(people.slice(0, 1_000)).length}
      `;

      expect(await takingBack({ import: second })).toMatchObject({ undone: [{}, {}], isDone: true });

      expect(await count()).toBe(0);
      expect(await importing(people)).toMatchObject({ added: 1_200 });
      expect(await count()).toBe(1_200);
    });
  });

  it("is not taken back where somebody has built on it since, unless that is forced", async () => {
    await stack.sql`truncate contributors, publishers, series, tags, imports, changes, tallies cascade`;
    await importing(basis);
    const [change = 0] = await lastChanges();
    await importing([{ kind: "series", externalId: "s9", name: "Later", tags: ["drama"], publishers: ["p1"] }]);

    const refused = await undone(change);

    expect(refused).toMatchObject({ undone: [] });
    expect(refused.conflicts).toEqual(
      expect.arrayContaining([expect.objectContaining({ field: expect.stringMatching(/^series\//) })]),
    );
    expect(await invoke("ops-undo", { change, force: true })).toMatchObject({ undone: [{}] });
    expect(await stack.sql`select external_id from series`).toEqual([{ external_id: "s9" }]);
  });

  it("comes back without the slugs and the external ids that new records have since, if that is forced", async () => {
    await stack.sql`truncate contributors, publishers, series, tags, imports, changes, tallies cascade`;
    await importing(basis);
    const [change = 0] = await lastChanges();
    await undone(change);
    const [{ id: undoing } = { id: 0 }] = await stack.sql<{ id: number }[]>`
      select id from changes where endpoint = 'ops/undo'
    `;
    await importing([
      { kind: "publisher", externalId: "p0", name: "House p0" },
      { kind: "series", externalId: "s0", name: "Series" },
    ]);
    const [later] = await lastChanges();
    const before = await catalogueContents(stack.sql, "version");

    const { conflicts } = await undone(undoing);

    const fields = ["slug", "external_id"];
    expect(conflicts).toEqual(
      ["publisher", "series"].flatMap((kind) =>
        fields.map((field) =>
          expect.objectContaining({
            record: expect.stringMatching(kind),
            field,
            reason: expect.stringMatching(/ has .* now/),
            later: expect.objectContaining({ change: later }),
          }),
        ),
      ),
    );

    const { change: forced } = await invoke<{ readonly change: number }>("ops-undo", { change: undoing, force: true });
    expect(await stack.sql`select slug, external_id from series order by id`).toEqual([
      { slug: "series-2", external_id: null },
      { slug: "series", external_id: "s0" },
    ]);
    await undone(forced);
    expect(await catalogueContents(stack.sql, "version")).toEqual(before);
  });

  it("names the change behind a list of it that is different now, of the whole list or of an element", async () => {
    await stack.sql`truncate contributors, publishers, series, tags, imports, changes, tallies cascade`;
    const creditsOf = (...people: string[]) => ({
      kind: "series",
      externalId: "s0",
      name: "Series",
      contributors: people.map((contributor) => ({ contributor })),
    });
    await importing(basis);
    const [addition = 0] = await lastChanges();
    await importing([creditsOf("c0", "c1")]);
    const [edit = 0] = await lastChanges();

    const { conflicts } = await undone(addition);
    expect(conflicts).toContainEqual(
      expect.objectContaining({
        field: expect.stringMatching(/^contributors\//),
        later: expect.objectContaining({ change: edit }),
      }),
    );

    const [one, other] = await stack.sql<{ id: number }[]>`
      select id from contributors where external_id in ('c1', 'c2') order by external_id
    `;
    await invoke("ops-merge-contributors", { keep: other?.id, merge: [one?.id] });
    expect((await undone(edit)).conflicts).toEqual([
      expect.objectContaining({
        field: "contributors",
        later: expect.objectContaining({ endpoint: "ops/merge-contributors" }),
      }),
    ]);
  });

  it("takes back the rest with force where a record of it was deleted since", async () => {
    await stack.sql`truncate contributors, publishers, series, tags, imports, changes, tallies cascade`;
    await importing(basis);
    const [change = 0] = await lastChanges();
    const [{ id } = { id: 0 }] = await stack.sql<{ id: number }[]>`
      select id from contributors where external_id = 'c2'
    `;
    await stack.call("admin-contributors/delete", { as: administrator.token, path: { id } });

    expect(await undone(change)).toMatchObject({
      undone: [],
      conflicts: [{ record: `contributor/${id}`, field: "*", later: { endpoint: "admin-contributors/delete" } }],
    });
    expect(await invoke("ops-undo", { change, force: true })).toMatchObject({
      undone: [{ leftOut: [{ reason: `Contributor ${id} was deleted` }] }],
    });
    expect(await stack.sql`select from contributors`).toEqual([]);
  });

  it("names the deletion that took a contributor from its series", async () => {
    await stack.sql`truncate contributors, publishers, series, tags, imports, changes, tallies cascade`;
    await importing(basis);
    await importing([{ kind: "series", externalId: "s9", name: "Later", contributors: [{ contributor: "c1" }] }]);
    const [change = 0] = await lastChanges();
    const [{ id } = { id: 0 }] = await stack.sql<{ id: number }[]>`
      select id from contributors where external_id = 'c1'
    `;
    await stack.call("admin-contributors/delete", { as: administrator.token, path: { id } });

    const { conflicts } = await undone(change);

    expect(conflicts).toEqual([
      expect.objectContaining({
        field: `contributors/${id}`,
        later: expect.objectContaining({ endpoint: "admin-contributors/delete" }),
      }),
    ]);
  });
});
