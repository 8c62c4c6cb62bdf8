import * as z from "zod/mini";
import { invalid } from "./errors.ts";
import { language } from "./languages.ts";
import { isVisible, trimmed, unseenIn } from "./names.ts";
import { searchOf } from "./search.ts";

export const nameLengthMax = 255;
const textLengthMax = 20_000;
const shortTextLengthMax = 2_000;
/** Limit of elements in an array of a request body. */
const elementsMax = 200;

/** What a schema accepts, as another value. */
/* @__NO_SIDE_EFFECTS__ */
export const mapped = <S extends z.ZodMiniType, V>(schema: S, map: (value: z.output<S>) => V) =>
  z.pipe(schema, z.transform(map));

/** PostgreSQL stores neither NUL nor an unpaired surrogate. */
const storable = z.refine<string>((value) => !value.includes("\0") && value.isWellFormed(), invalid);

/** Of control characters, a text may contain only these. Any other has six bytes in JSON, and nothing shows it. */
export const unfitForText = /[\p{Cc}--[\t\n\r]]/v;

/**
 * Text of at most `max` characters. Line breaks become `\n`, and surrounding white space is removed; a text without any
 * visible character is empty.
 */
export const text = (max: number) =>
  z.string().check(
    z.maxLength(max, invalid),
    z.refine((value) => value.isWellFormed() && !unfitForText.test(value), invalid),
    z.overwrite((value) => (isVisible(value) ? value.replaceAll(/\r\n?/g, "\n").trim() : "")),
  );

/** Nothing shows an invisible character within a name, so the fault has its code point. */
const seen = z.check<string>(({ value, issues }) => {
  const code = unseenIn(value)?.codePointAt(0);
  if (code === undefined) return;
  const character = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  issues.push({ code: "custom", message: invalid, input: value, params: { character } });
});

/** A name that may be empty; a name without any visible character is empty. */
export const nameOrEmpty = z.string().check(
  z.maxLength(nameLengthMax, invalid),
  z.overwrite((value) => (isVisible(value) ? trimmed(value) : "")),
  z.refine((value) => value.isWellFormed(), invalid),
  seen,
);
export const name = nameOrEmpty.check(z.minLength(1));

/** A language by a tag, a code, or its name in English or in itself. */
export const languageName = mapped(name, language);

/** A contributor's description. */
export const requiredText = text(textLengthMax).check(z.minLength(1));
/** The source of a description; may be empty. */
export const source = text(nameLengthMax);
/** A role's or a permission's description; may be empty. */
export const shortText = text(shortTextLengthMax);
export const requiredShortText = shortText.check(z.minLength(1));

/** A field with a default, for null and for a missing field. */
export const withDefault = <S extends z.ZodMiniType, const D>(schema: S, defaultValue: D) =>
  mapped(z.optional(z.nullable(schema)), (value) => value ?? defaultValue);

/** A name that may be missing, null or empty: then it is null. */
export const optionalName = mapped(z.optional(z.nullable(nameOrEmpty)), (value) => value || null);
/** A date as far as it is known: 1909, 1909-12 or 1909-12-31 (ISO 8601, reduced precision). PostgreSQL has no year 0. */
export const date = z
  .union([z.iso.date(), z.string().check(z.regex(/^\d{4}(?:-(?:0[1-9]|1[0-2]))?$/))])
  .check(z.refine((value) => !value.startsWith("0000")));
/** A name that may be missing, null or empty: then it is empty. */
export const nameOrNone = withDefault(nameOrEmpty, "");
export const flag = withDefault(z.boolean(), false);

const digits = z.string().check(z.regex(/^\d{1,16}$/));
const wholeNumber = z.pipe(digits, z.pipe(z.transform(Number), z.int().check(z.nonnegative())));

/** An id in a query: a positive integer. */
export const queryId = z.pipe(digits, z.pipe(z.transform(Number), z.int().check(z.positive())));

/** A value that no record can have becomes null. So it is not found, as the id of a missing record is not. */
const orNull = <const S extends z.ZodMiniType>(schema: S) =>
  z.transform((value: string): z.output<S> | null => schema.safeParse(value).data ?? null);

/** An id that is a string in the interface (users, roles, permissions). */
export const pathId = z.pipe(z.string().check(z.minLength(1)), orNull(queryId));

/** An id in a path that is a number in the interface (contributors, publishers): any integer. */
export const pathInteger = z.pipe(z.string().check(z.regex(/^-?\d+$/)), orNull(queryId));

/** An id in a JSON body: a number, or a string of digits. */
export const bodyId = z.union([z.int().check(z.positive()), queryId]);

/** An array in a request body; the default is an empty one. */
export const list = <S extends z.ZodMiniType>(element: S, max = elementsMax) =>
  withDefault(z.array(element).check(z.maxLength(max)), []);

/** An image as Base64, with or without the prefix of a data URL; it is checked when it is processed. */
export const image = z.string().check(z.minLength(1));

const nonEmptyText = z.string().check(z.minLength(1), z.maxLength(nameLengthMax), storable);

export const slug = z.pipe(z.string().check(z.minLength(1)), orNull(nonEmptyText));

/** What to search for. A text without any word counts as absent, as an empty one does (lib/http/input.ts). */
export const search = z.optional(mapped(z.string().check(z.maxLength(nameLengthMax), storable), searchOf));

/** The greatest `limit` of a page. With a greater one, or none, a list counts as whole: caches and the firewall differ. */
export const pageLimitMax = 999;

/** Which records of a list are requested. */
export const page = { limit: z._default(wholeNumber, Number.MAX_SAFE_INTEGER), offset: z._default(wholeNumber, 0) };
/** Reserved: nothing reads it yet. */
export const lang = z.optional(z.string().check(z.maxLength(nameLengthMax), storable));
/** The orders of a list; the first is the default. */
export const order = <const Orders extends readonly [string, ...string[]]>(...orders: Orders) =>
  z._default(z.enum(orders), orders[0]);
export const catalogueOrder = z.enum(["name-asc", "name-desc", "added-asc", "added-desc"]);
/** Orders beyond the interface. */
export const recordOrders = ["id-asc", "id-desc", "changed-asc", "changed-desc"] as const;
export const contributorOrders = ["name-asc", "name-desc", "sort-name-asc", "sort-name-desc", ...recordOrders] as const;
/** By what a list is filtered; no record has a text that is longer. */
export const filter = z.optional(nonEmptyText);
/** A letter of any script, or # for all that is none. As in PostgreSQL, some numbers and signs are letters: 〇, 🅰. */
export const letterText = z.string().check(z.regex(/^(#|\p{Alphabetic}\p{M}*)$/u), z.maxLength(nameLengthMax));
export const letter = z.optional(letterText);
/** Fields that a response has only on request, separated by commas. */
export const include = <const Words extends readonly [string, ...string[]]>(...words: Words) =>
  z.optional(
    z.pipe(
      mapped(z.string(), (value) => value.split(",")),
      z.array(z.enum(words)),
    ),
  );
/** Up to 200 ids, separated by commas. */
export const ids = z.optional(z.string().check(z.regex(/^[1-9]\d{0,14}(?:,[1-9]\d{0,14}){0,199}$/)));
/** A point in time, as ISO 8601 with an offset; in UTC then. PostgreSQL has no year 0, and JavaScript none beyond 9999. */
export const instant = z.optional(
  mapped(z.iso.datetime({ offset: true }), (value) => new Date(value).toISOString()).check(
    z.refine((value) => /^(?!0000)\d{4}-/.test(value)),
  ),
);
/** A filter by something that a record is or has. */
export const yesOrNo = z.optional(z.enum(["true", "false"]));
/** A detail without its edit lock. */
export const lock = z.optional(z.enum(["none"]));
export const userLanguage = z._default(nonEmptyText, "English");
