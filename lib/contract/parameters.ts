import * as z from "zod/mini";
import { language } from "./languages.ts";

export const nameLengthMax = 255;
const textLengthMax = 20_000;
const shortTextLengthMax = 2_000;
/** Elements of one array in a request body. */
const elementsMax = 200;

/** PostgreSQL stores neither NUL nor half a surrogate pair. */
const storable = z.refine<string>((value) => !value.includes("\0") && value.isWellFormed());

/** Text of at most `max` characters, from which surrounding space is then cut off. */
export const trimmed = (max: number) => z.string().check(z.maxLength(max), z.trim(), storable);

/**
 * What no name holds: control characters, breaks of lines, and what nobody sees or what turns the direction of text.
 * Joiners and variation selectors stay, for scripts, emoji and ideographs need them.
 */
export const unseen =
  /[[\p{Cc}\p{Zl}\p{Zp}\p{Cf}\p{Default_Ignorable_Code_Point}]--[\p{Variation_Selector}\u200c\u200d]]/v;
const visible = /[^\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u;

/** A name, or nothing: what cannot be seen counts as space does. */
export const possibleName = z.string().check(
  z.maxLength(nameLengthMax),
  z.overwrite((value) => (visible.test(value) ? value.trim() : "")),
  z.refine((value) => value.isWellFormed() && !unseen.test(value)),
);
export const name = possibleName.check(z.minLength(1));

/** A contributor's description. */
export const requiredText = trimmed(textLengthMax).check(z.minLength(1));
/** A role's or a permission's description; may be empty. */
export const shortText = trimmed(shortTextLengthMax);
export const requiredShortText = shortText.check(z.minLength(1));

/** A field that may be left out or null; both mean `absent`. */
const orElse = <S extends z.ZodMiniType, const A>(schema: S, absent: A) =>
  z.pipe(
    z.optional(z.nullable(schema)),
    z.transform((value): z.output<S> | A => value ?? absent),
  );

/** A name that may be null, left out or empty; all mean null. */
export const optionalName = z.pipe(
  z.optional(z.nullable(possibleName)),
  z.transform((value) => value || null),
);
export const flag = orElse(z.boolean(), false);

const digits = z.string().check(z.regex(/^\d{1,16}$/));
const wholeNumber = z.pipe(digits, z.pipe(z.transform(Number), z.int().check(z.nonnegative())));

/** A numeric identifier in a query: a positive integer. */
export const id = z.pipe(digits, z.pipe(z.transform(Number), z.int().check(z.positive())));

/** What can match nothing becomes null, so that it is missing like a record that is not there. */
const orNull = <const S extends z.ZodMiniType>(schema: S) =>
  z.transform((value: string): z.output<S> | null => schema.safeParse(value).data ?? null);

/** An identifier the interface calls a string (users, roles, permissions). */
export const textId = z.pipe(z.string().check(z.minLength(1)), orNull(id));

/** An identifier in a path that the interface calls a number (contributors, publishers): any integer. */
export const numericId = z.pipe(z.string().check(z.regex(/^-?\d+$/)), orNull(id));

/** An identifier in a JSON body, as a number or its digits. */
export const bodyId = z.union([z.int().check(z.positive()), id]);

/** An array in a request body that defaults to nothing. */
export const list = <S extends z.ZodMiniType>(element: S, max = elementsMax) =>
  orElse(z.array(element).check(z.maxLength(max)), []);

/** An image as Base64, with the prefix of a data URL or without; what it is made of is looked at when it is processed. */
export const image = z.string().check(z.minLength(1));

const word = z.string().check(z.minLength(1), z.maxLength(nameLengthMax), storable);

export const slug = z.pipe(z.string().check(z.minLength(1)), orNull(word));

/** Optional query parameters: an empty string counts as absent, which the pipeline sees to. */
export const search = z.optional(z.string().check(z.maxLength(nameLengthMax), storable));
export const limit = z._default(wholeNumber, Number.MAX_SAFE_INTEGER);
export const offset = z._default(wholeNumber, 0);
export const optionalId = z.optional(id);
export const optionalText = z.optional(z.string().check(z.maxLength(nameLengthMax), storable));
/** The interface's orders of a list; the first is the default. */
export const order = <const Orders extends readonly [string, ...string[]]>(...orders: Orders) =>
  z._default(z.enum(orders), orders[0]);
export const userLanguage = z._default(z.pipe(word, z.transform(language)), "English");
