import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import type { AdminContributor, ClientOptions, Colophon, ContributorForm, Opened } from "../../../lib/client/index.js";
import { useAdministrator } from "../../support/callers.ts";
import { aContributor } from "../../support/catalogue.ts";
import { clientFor, refusal } from "../../support/client.ts";
import { plain } from "../../support/pictures.ts";
import { aRole } from "../../support/records.ts";
import { useStack } from "../../support/stack.ts";

/* Edits of the service. calls.test.ts has what they send. */

const edits = 180;
/** Edits of a contributor, whose elements must not become too many. */
const editsOfOne = 90;
const stack = useStack({ uploads: true });
const editors = [useAdministrator(stack), useAdministrator(stack), useAdministrator(stack)];
let target: number;
let others: readonly number[];
let faults = 0;

/** A network that meets one request in ten with a fault. */
const network: NonNullable<ClientOptions["fetch"]> = async (url, init) => {
  const kind = Math.floor(Math.random() * 50);
  if (kind < 5) faults += 1;
  if (kind < 2) return refusal(kind === 0 ? 429 : 503, { "Retry-After": "0" });
  const lost = new TypeError("fetch failed");
  if (kind === 2) throw lost;
  const response = await fetch(url, init);
  if (kind === 3) throw lost;
  const broken = new ReadableStream({ pull: (controller) => controller.error(lost) });
  return kind === 4 ? new Response(broken, response) : response;
};

beforeAll(async () => {
  others = await Promise.all(Array.from({ length: 8 }, async () => (await aContributor(stack.sql)).id));
});

/** A form that shows what a detail has. Elements that a person adds have no id. */
type Form = Required<AdminContributor>;
type Kind = "aliases" | "descriptions" | "relations";

const lines = ["", "Uno", "née", "日本", "👩‍👩‍👧", '"{}"', "null", "\\"];
const texts = ["Text", "two\nlines", "a\tb", "0", "日本\n\n👩‍👩‍👧"];
const pick = <Item>(items: readonly [Item, ...Item[]] | readonly Item[], seed: number) =>
  items[seed % items.length] as Item;
const remove = (items: unknown[], seed: number) => void items.splice(seed % 4, 2);
const add = <Item>(items: Item[], item: Omit<Item, "id">) => void items.push(item as Item);
const modify = <Item>(items: Item[], seed: number, fields: Partial<Item>) => {
  if (items.length > 0) Object.assign(pick(items, seed) as object, fields);
};

/** Another one each time: of two equal aliases it is unknown which one was removed, and no relation is added twice. */
const nameOf = (seed: number) => `Name ${seed} ${randomUUID()}`;

/** What a person may do with the form. */
const touches: Record<string, (form: Form, seed: number) => void> = {
  "rename it": (form) => Object.assign(form, { first_name: `Name ${randomUUID()}` }),
  "set a text": (form, seed) =>
    Object.assign(form, { [pick(["last_name", "gender", "type"], seed)]: pick(lines, seed >> 2) }),
  "publish it, or not": (form) => Object.assign(form, { public: !form.public }),
  "add a link": ({ links }, seed) => void links.push({ url: `https://example.com/${seed}`, domain: "" }),
  "remove links": ({ links }, seed) => remove(links, seed),
  "add an alias": ({ aliases }, seed) => add(aliases, { name: nameOf(seed) }),
  "remove aliases": ({ aliases }, seed) => remove(aliases, seed),
  "rename an alias": ({ aliases }, seed) => modify(aliases, seed, { name: nameOf(seed) }),
  "add a description": ({ descriptions }, seed) =>
    add(descriptions, { description: pick(texts, seed), language: "English", source: nameOf(seed) }),
  "remove descriptions": ({ descriptions }, seed) => remove(descriptions, seed),
  "describe otherwise": ({ descriptions }, seed) =>
    // A record has one description of a language and source.
    modify(
      descriptions,
      seed >> 2,
      seed % 3 === 2
        ? { source: nameOf(seed) }
        : {
            [pick(["description", "language"], seed % 3)]: pick(["Text", "French", "Klingon", "two\nlines"], seed >> 4),
          },
    ),
  "add a relation": ({ relations }, seed) =>
    void relations.push({ relation_id: pick(others, seed), relation_type: nameOf(seed) } as Form["relations"][0]),
  "remove relations": ({ relations }, seed) => remove(relations, seed),
  "relate otherwise": ({ relations }, seed) =>
    modify(
      relations,
      seed,
      seed % 2 === 0 ? { relation_id: pick(others, seed) } : { relation_type: `type ${seed % 5}` },
    ),
};

/** What a panel makes of its form. */
const panels: Record<string, (form: Form, opened: Form) => ContributorForm> = {
  "sends it as it is": (form) => form,
  "has null for what is empty, and strings for links and aliases": (form) => ({
    ...form,
    last_name: form.last_name || null,
    gender: form.gender || null,
    type: form.type || null,
    links: form.links.map(({ url }) => url),
    aliases: form.aliases.map(({ name }) => name),
  }),
  "has only the fields that a person has touched": (form, opened) =>
    Object.fromEntries(
      Object.entries(form).filter(
        ([name, value]) => JSON.stringify(value) !== JSON.stringify(opened[name as keyof Form]),
      ),
    ),
};

const editor = fc.record({
  touched: fc.array(fc.tuple(fc.constantFrom(...Object.keys(touches)), fc.nat(1_000_000)), { maxLength: 4 }),
  panel: fc.constantFrom(...Object.keys(panels)),
});

async function open(id: number): Promise<Opened<Form>> {
  const query = { include: "type,public", lock: "none" } as const;
  const colophon = clientFor(stack, editors[0]);
  const { data, version, error } = await colophon.GET("/admin-contributors/id/{id}", { path: { id }, query });
  if (error) throw new Error(error.data);
  return { data: data as Form, version };
}

/** Saves a form; after a conflict its changes are made to what another editor has saved. */
async function save(colophon: Colophon, opened: Opened<Form>, form: ContributorForm, onto = opened): Promise<void> {
  const result = await colophon.editContributor(opened, form, { onto });
  if (result.status === "conflict") return await save(colophon, opened, form, result.current as Opened<Form>);
  expect(result).toEqual({ status: "saved" });
}

/** A value is as it was, or as one of those who have touched it has left it. */
function expectOneOf(before: unknown, after: unknown, forms: readonly unknown[]): void {
  const changed = forms.filter((value) => JSON.stringify(value) !== JSON.stringify(before));
  expect(changed.length > 0 ? changed : [before]).toContainEqual(after);
}

/** A link is there unless an editor has removed it, and so are all added links. */
function expectLinks(before: Form, after: Form, forms: readonly Form[]): void {
  const urlsOf = ({ links }: Form) => new Set(links.map(({ url }) => url));
  const [old, all] = [urlsOf(before), forms.map(urlsOf)];
  const kept = [...old].filter((url) => all.every((urls) => urls.has(url)));
  const added = all.flatMap((urls) => [...urls]).filter((url) => !old.has(url));
  expect(urlsOf(after)).toEqual(new Set([...kept, ...added]));
}

/**
 * An element is there unless an editor has removed it, and the new ones are those that were added, once if several have
 * added the same. A renamed alias is another one; to rename what others have removed adds nothing.
 */
function expectElements(kind: Kind, names: readonly string[], before: Form, after: Form, forms: readonly Form[]): void {
  type Element = Record<string, unknown>;
  const elementsOf = (form: Form) => form[kind] as unknown as Element[];
  const values = (element: Element) => JSON.stringify(names.map((name) => element[name]));
  const find = (form: Form, { id }: Element) => elementsOf(form).find((element) => element.id === id);
  const isRenamed = (element: Element, old: Element) => kind === "aliases" && element.name !== old.name;
  const isOld = (element: Element) => {
    const old = find(before, element);
    return old !== undefined && !isRenamed(element, old);
  };

  for (const old of elementsOf(before)) {
    const versions = forms.map((form) => find(form, old)).filter((element) => element && !isRenamed(element, old));
    const saved = find(after, old);
    expect(saved !== undefined).toBe(versions.length === forms.length);
    for (const name of saved ? names : []) {
      const values = versions.map((element) => element?.[name]);
      expectOneOf(old[name], saved?.[name], values);
    }
  }
  const isGoneElsewhere = (form: Form, element: Element) =>
    find(before, element) !== undefined &&
    forms.some((other) => other !== form && !elementsOf(other).some((its) => its.id === element.id && isOld(its)));
  const added = forms.flatMap((form) =>
    elementsOf(form)
      .filter((element) => !isOld(element))
      .map((element) => ({ form, element })),
  );
  const certain = added
    .filter(({ form, element }) => !isGoneElsewhere(form, element))
    .map(({ element }) => values(element));
  const isNew = (element: Element) => find(before, element) === undefined;
  const found = elementsOf(after).filter(isNew).map(values);
  expect(found).toEqual(expect.arrayContaining(certain));
  expect(added.map(({ element }) => values(element))).toEqual(expect.arrayContaining(found));
}

it("Hundreds of random edits change no field that was not touched, beside two other editors and over a faulty network", {
  timeout: 600_000,
}, async () => {
  let count = 0;
  const round = async (inputs: readonly { touched: readonly [string, number][]; panel: string }[]) => {
    if (count % editsOfOne === 0) target = (await aContributor(stack.sql)).id;
    const opened = await open(target);
    const before = structuredClone(opened);
    const forms = inputs.map(({ touched }) => {
      const form = structuredClone(opened.data);
      for (const [touch, seed] of touched) touches[touch]?.(form, seed);
      return form;
    });

    await Promise.all(
      inputs.map(({ panel }, index) =>
        save(
          clientFor(stack, editors[index], { fetch: network, retry: { attempts: 30, seconds: 300 } }),
          opened,
          panels[panel]?.(forms[index] as Form, opened.data) ?? {},
        ),
      ),
    );

    const { data: after } = await open(target);
    expect(opened).toEqual(before);
    for (const name of ["id", "slug", "image", "first_name", "last_name", "gender", "type", "public"] as const) {
      const values = forms.map((form) => form[name]);
      expectOneOf(opened.data[name], after[name], values);
    }
    expectLinks(opened.data, after, forms);
    expectElements("aliases", ["name"], opened.data, after, forms);
    expectElements("descriptions", ["description", "language", "source"], opened.data, after, forms);
    expectElements("relations", ["relation_id", "relation_type"], opened.data, after, forms);
    count += inputs.length;
  };

  const inputs = fc.tuple(editor, editor, editor);
  await fc.assert(fc.asyncProperty(inputs, round), { numRuns: Math.ceil(edits / editors.length) });

  expect(count).toBeGreaterThanOrEqual(edits);
  expect(faults).toBeGreaterThan(0);
});

it("An edit of a role is a conflict after another one, and then made to it", async () => {
  const [mine, theirs] = [clientFor(stack, editors[0]), clientFor(stack, editors[1])];
  const { id } = await aRole(stack.sql, "view-users");
  const openRole = async () => {
    const { data, version = "" } = await mine.GET("/admin-roles/id/{id}", { path: { id } });
    return { data: data ?? expect.fail(), version };
  };
  const before = await openRole();
  expect(await theirs.editRole(before, { name: "Theirs" })).toEqual({ status: "saved" });

  const form = { ...before.data, description: "Mine", permissions: [] };
  const current = await openRole();
  expect(await mine.editRole(before, form)).toMatchObject({ status: "conflict", error: { code: 412 }, current });
  expect(await mine.editRole(before, form, { onto: current })).toEqual({ status: "saved" });

  expect((await openRole()).data).toMatchObject({ name: "Theirs", description: "Mine", permissions: [] });
});

describe("An avatar that is uploaded while a form is open", () => {
  const aFile = async () => new Blob([new Uint8Array(await plain().png().toBuffer())], { type: "image/png" });

  it("leaves the form to be saved without a conflict, but hides none with another user", async () => {
    const colophon = clientFor(stack, editors[0]);
    const before = await open((await aContributor(stack.sql)).id);

    const result = await colophon.updateAvatar(before, await aFile());
    if (result.status !== "saved") throw new Error(result.error.data);
    expect(result.opened).toEqual({
      data: { ...before.data, image: expect.stringMatching(/^https/) },
      version: expect.not.stringMatching(before.version),
    });
    expect(await colophon.editContributor(result.opened, { ...before.data, gender: "female" })).toEqual({
      status: "saved",
    });

    const late = await colophon.updateAvatar(before, await aFile());
    if (late.status !== "saved") throw new Error(late.error.data);
    expect(await colophon.editContributor(late.opened, { gender: "male" })).toMatchObject({ status: "conflict" });
  });

  it("is refused if it is no image", async () => {
    const before = await open((await aContributor(stack.sql)).id);

    expect(await clientFor(stack, editors[0]).updateAvatar(before, new Blob(["no image"]))).toEqual({
      status: "refused",
      error: { code: 500, data: "An error occurred while updating the contributor avatar" },
    });
  });
});
