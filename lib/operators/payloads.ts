import * as z from "zod/mini";
import { name, shortText } from "../contract/parameters.ts";
import { fieldsInWords, issueInWords } from "./issues.ts";
import { refusal } from "./refusal.ts";

const id = z.int().check(z.positive());
/** PostgreSQL has no year 0, and no offset of 16 hours. */
const time = z.iso
  .datetime({ offset: true, error: "a time as 2026-11-21T08:00:00Z" })
  .check(z.refine((text) => Date.parse(text) > 0 && !/[+-](1[6-9]|2\d):\d\d$/.test(text), "a time since 1970"));
const textLike = (form: RegExp, example: string) => z.string().check(z.regex(form, `as ${example}`));
/** What every repair takes: the operator's reason and name for the ledger, and whether it only says what it would do. */
const repair = { reason: z.optional(shortText), by: z.optional(name), dryRun: z.optional(z.boolean()) };
const days = (max: number) => z.int().check(z.minimum(1), z.maximum(max));

/** A record as the ledger names it: `contributor/5`. */
const record = textLike(/^[a-z][a-z-]*\/[1-9]\d{0,15}$/, "contributor/5");

/** An object in S3. */
const s3Url = textLike(/^s3:\/\/[a-z0-9.-]+\/./, "s3://BUCKET/KEY");

/** A tag as public results have them (lib/contract/README.md). */
const tag = textLike(
  /^(?:contributors|publishers|series|tags|(?:contributor|publisher|series|tag)-[1-9]\d{0,18})$/,
  "contributor-5",
);

/** How a provider of OpenID Connect calls itself (OpenID Connect Core, "iss") and a person ("sub"). */
const issuer = z
  .string()
  .check(z.maxLength(255), z.regex(/^https?:\/\/[^\s?#]+$/, "an address without a query, as the provider writes it"));
const subject = z.string().check(z.regex(/^[!-~]([ -~]{0,253}[!-~])?$/, "1 to 255 ASCII characters"));
const email = z.string().check(z.maxLength(254), z.regex(/^[^\s@]+@[^\s@]+$/, "an e-mail address"));

/** A request to a custom resource (CloudFormation, "Custom resource reference"). */
const ofCloudFormation = {
  RequestType: z.enum(["Create", "Update", "Delete"]),
  ResponseURL: z.string(),
  StackId: z.string(),
  RequestId: z.string(),
  LogicalResourceId: z.string(),
};

/**
 * What each operators' function accepts, by its path in `functions/`: the function checks it, and so does
 * `npm run invoke` before it sends it. `by` is the operator's name for the ledger.
 */
export const payloads = {
  "ops/check-copy": z.object({
    /** A cluster that was restored beside the database's own, and the secret of its master. */
    cluster: z.string().check(z.regex(/:cluster:colophon-[a-z0-9]+-database-[\w-]+$/)),
    secret: z.string(),
    /** The slug of one who must be there. */
    knownContributor: z.string(),
    /** The copy has all changes that are older. */
    hours: z.int().check(z.positive()),
  }),
  /** Who the user is for a provider: by identity, or the first person who signs in with the address. */
  "ops/create-user": z
    .strictObject({
      username: name,
      roles: z._default(z.array(name), []),
      identity: z.optional(z.strictObject({ issuer, subject })),
      email: z.optional(z.strictObject({ issuer, address: email })),
      by: z.optional(name),
    })
    .check(z.refine(({ identity, email }) => !identity || !email, "either `identity` or `email`")),
  "ops/end-sessions": z.strictObject({ user: z.union([id, name], "a user's id or name"), ...repair }),
  "ops/export": z.strictObject({
    /** A client's id. Default: all clients. */
    client: z.optional(id),
    target: z.optional(s3Url),
  }),
  "ops/import": z.strictObject({
    /** A file as s3://BUCKET/KEY, or lines of JSON (README.md, "Lines of a catalogue"). */
    source: z.string().check(z.minLength(1)),
    /** The id of the only client whose records the lines may add, edit and name. Default: all. */
    client: z.optional(id),
    /** Returns then, although lines are left. */
    seconds: z.optional(z.int().check(z.minimum(1), z.maximum(900))),
    ...repair,
  }),
  "ops/invalidate": z.strictObject({
    tags: z.optional(z.array(tag).check(z.minLength(1))),
    everything: z.optional(z.literal(true)),
  }),
  /** SQS messages, each with an event of S3 about a deleted object (S3, "EventBridge event message structure"). */
  "ops/invalidate-images": z.object({ Records: z.array(z.object({ messageId: z.string(), body: z.string() })) }),
  "ops/issue-refresh-token": z.object({ username: name, days: days(365), by: z.optional(name) }),
  "ops/link-identity": z
    .strictObject({
      username: name,
      issuer,
      subject: z.optional(subject),
      email: z.optional(email),
      remove: z._default(z.boolean(), false),
      ...repair,
    })
    .check(
      z.refine(
        ({ subject, email }) => (subject === undefined) !== (email === undefined),
        "either `subject` or `email`",
      ),
    ),
  "ops/list-changes": z.strictObject({
    id: z.optional(id),
    user: z.optional(z.union([id, name], "a user's id or name")),
    endpoint: z.optional(textLike(/^[a-z-]+(\/[a-z-]+)?$/, "admin-roles/edit")),
    record: z.optional(z.union([id, record])),
    from: z.optional(time),
    to: z.optional(time),
    before: z.optional(id),
    limit: z._default(id.check(z.maximum(1_000)), 50),
    /** Adds the rows as the ledger has them. */
    raw: z._default(z.boolean(), false),
  }),
  "ops/merge-contributors": z
    .strictObject({
      keep: id,
      merge: z.array(id).check(z.minLength(1, "Nobody is there"), z.maxLength(100, "More than 100")),
      ...repair,
    })
    .check(
      z.refine(({ merge }) => new Set(merge).size === merge.length, { path: ["merge"], error: "An id is there twice" }),
      z.refine(({ keep, merge }) => !merge.includes(keep), { path: ["merge"], error: "The kept one is there, too" }),
    ),
  "ops/migrate": z.looseObject({
    setPasswords: z._default(z.boolean(), false),
    closeOtherDatabases: z._default(z.boolean(), false),
    refuseEmpty: z._default(z.boolean(), false),
  }),
  "ops/migrate-on-deploy": z.looseObject({
    ...ofCloudFormation,
    /** Set by infra/stacks/database/migration.ts; CloudFormation makes all values text. */
    ResourceProperties: z.optional(z.looseObject({ MayBeEmpty: z.optional(z.literal("true")) })),
  }),
  /** Set by infra/stacks/api/release.ts. */
  "ops/release-on-deploy": z.looseObject({
    ...ofCloudFormation,
    ResourceProperties: z.optional(
      z.looseObject({
        Release: z.string(),
        Functions: z.array(z.string()),
        /** Releases versions without a trial; CloudFormation makes all values text. */
        Untried: z.optional(z.enum(["true", "false"])),
      }),
    ),
    OldResourceProperties: z.optional(z.looseObject({ Release: z.optional(z.string()) })),
  }),
  "ops/remove-images": z.looseObject({}),
  "ops/rotate-password": z.object({
    Step: z.enum(["createSecret", "setSecret", "testSecret", "finishSecret"]),
    SecretId: z.string(),
    ClientRequestToken: z.string(),
  }),
  "ops/smoke": z.looseObject({
    requests: z
      .array(
        z.object({
          /** `contributor/slug` */
          endpoint: z.string(),
          /** Path and query: `/contributor/slug/naoki-urasawa`. */
          target: z.string().check(z.regex(/^\/(?!\/)/)),
          /** Whether the record must be there, so that 404 is wrong. */
          mustExist: z.optional(z.boolean()),
        }),
      )
      .check(z.minLength(1)),
  }),
  "ops/tidy": z.looseObject({ days: z._default(days(3_650), 400) }),
  /** Either a change, or all of an import, or those of a user in a time; the newest first. */
  "ops/undo": z
    .strictObject({
      change: z.optional(id),
      /** One of the import's changes, whichever. */
      import: z.optional(id),
      user: z.optional(z.union([id, name])),
      from: z.optional(time),
      to: z.optional(time),
      ...repair,
    })
    .check(
      z.refine(({ change, import: imported, user, from, to }) => {
        const range = [user, from, to].filter((each) => each !== undefined).length;
        const single = [change, imported].filter((each) => each !== undefined).length;
        return single === 0 ? range === 3 : single === 1 && range === 0;
      }, "either `change`, or `import`, or `user`, `from` and `to`"),
      z.refine(({ from, to }) => from === undefined || to === undefined || Date.parse(from) < Date.parse(to), {
        path: ["to"],
        error: "It is not after `from`",
      }),
      z.refine(({ from }) => from === undefined || Date.parse(from) < Date.now(), {
        path: ["from"],
        error: "It is in the future",
      }),
    ),
} as const satisfies Readonly<Record<`ops/${string}`, z.ZodMiniType>>;

export type OperatorEndpoint = keyof typeof payloads;
export const isOperatorEndpoint = (path: string): path is OperatorEndpoint => Object.hasOwn(payloads, path);

export type OperatorPayload<Endpoint extends OperatorEndpoint> = z.output<(typeof payloads)[Endpoint]>;

const schemas: { readonly [Each in OperatorEndpoint]: z.ZodMiniType<OperatorPayload<Each>> } = payloads;

/**
 * The validated payload of an operators' function.
 * @throws an error that names each invalid field
 */
export function payloadOf<Endpoint extends OperatorEndpoint>(
  endpoint: Endpoint,
  event: unknown,
): OperatorPayload<Endpoint> {
  const schema: z.ZodMiniType<OperatorPayload<Endpoint>> = schemas[endpoint];
  const result = z.safeParse(schema, event, { error: issueInWords });
  if (result.success) return result.data;
  throw refusal(`Invalid payload: ${fieldsInWords(result.error.issues).join("; ")}`);
}
