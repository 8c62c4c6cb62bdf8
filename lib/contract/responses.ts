import * as z from "zod/mini";
import { date } from "./parameters.ts";
import { permissions } from "./permissions.ts";

/*
 * The records of the interface ("Resources and their fields"), and of what is beyond it. An unknown field is an error.
 * Tests and documents use these schemas; functions use only their types.
 */

/** A field with what it means, for documents and types. */
const field = <S extends z.ZodMiniType>(schema: S, meaning: string): S => schema.check(z.describe(meaning));

const id = z.int().check(z.positive());
const count = z.int().check(z.nonnegative());
const zeroOrOne = z.literal([0, 1]);
const instant = field(z.iso.datetime({ precision: 3 }), "ISO 8601 in UTC: `2026-11-20T10:15:00.000Z`.");
const urlOrEmpty = field(z.union([z.url(), z.literal("")]), "Its address, or empty.");
const urlOrNull = field(z.nullable(z.url()), "Its address, or null.");
const possible = field(z.string(), "Empty if not known.");
const possibleOrNull = field(z.nullable(z.string()), "Null if not known.");
const slug = field(z.string(), "Its name in addresses.");
const lastName = field(z.string(), "Empty if there is none.");

export const UserReference = z.strictObject({ id, username: z.string() });

export const Envelope = z.strictObject({
  data: field(z.string(), "What has happened, or why nothing has."),
  code: field(z.int().check(z.minimum(200), z.maximum(599)), "The status of the response."),
});

const user = { id, slug, username: z.string() };

export const SessionUser = z.strictObject({ ...user, profile_image: urlOrNull });

export const Session = z.strictObject({
  user: SessionUser,
  permissions: field(
    z.array(z.enum(Object.keys(permissions))),
    "The keys of those of the fifteen that the user holds.",
  ),
  expires: field(instant, "When the session ends, unless it is revoked before."),
});

export const Slug = field(z.string().check(z.minLength(1)), "What stands for a record in addresses.");

const version = z.optional(field(count, "Only with `include=version`: for `If-Match` of a change."));
const added = z.optional(field(instant, "Only with `include=added`: when it was added."));
const changed = z.optional(
  field(instant, "Only with `include=changed`: when it, or what belongs to it alone, was last changed."),
);
const listed = { version, changed };

/** Of roles and permissions. */
const named = { id, name: z.string(), description: z.string() };
const namedOrNull = { ...named, description: z.nullable(z.string()) };

export const Permission = z.strictObject(named);

export const PermissionListItem = z.strictObject({ ...named, ...listed });

export const RoleListItem = z.strictObject({ ...namedOrNull, permission_count: count, user_count: count, ...listed });

export const Role = z.strictObject({
  ...named,
  is_default: field(zeroOrOne, "1 for the role that users get who would have none."),
  permissions: z.array(Permission),
});

export const RoleSummary = z.strictObject(named);
export const UserRole = z.strictObject(namedOrNull);

export const UserListItem = z.strictObject({
  ...user,
  age_verified: z.boolean(),
  profile_image: urlOrEmpty,
  registered: instant,
  roles: z.array(RoleSummary),
  lock: field(z.nullable(UserReference), "Who else is editing them."),
  ...listed,
});

export const User = z.strictObject({
  ...user,
  profile_image: urlOrNull,
  registered: instant,
  age_verified: z.boolean(),
  logged_in: field(z.boolean(), "Whether they have a valid session."),
  roles: z.array(UserRole),
});

export const Link = z.strictObject({ url: z.url(), domain: z.string() });
const links = field(
  z.array(Link),
  "Pages about them, as they were sent, but for what RFC 3986 (6.2.2 and 6.2.3) calls equal.",
);
/** The tag of a text's language, for the attribute `lang` of HTML, where an empty one means the same. */
const languageCode = (text: string) =>
  z.optional(
    field(z.string(), `Only with \`include=language_code\`: the BCP 47 tag of ${text} language; empty if not known.`),
  );
export const Description = z.strictObject({
  id,
  description: z.string(),
  language: field(z.string(), "Its English name."),
  source: field(z.string(), "Empty if there is none."),
  language_code: languageCode("its"),
});
const descriptions = z.array(Description);
export const ContributorAlias = z.strictObject({ id, name: z.string() });
const aliases = z.array(ContributorAlias);
export const ContributorRelation = z.strictObject({
  id,
  relation_id: field(id, "The other contributor's id."),
  relation_type: z.string(),
  name: z.string(),
  first_name: z.string(),
  last_name: z.string(),
  slug: z.string(),
});
const relations = z.array(ContributorRelation);

const contributor = { id, first_name: z.string(), last_name: lastName };
const adminContributor = { ...contributor, slug, image: urlOrEmpty };

const disambiguation = z.optional(
  field(
    z.string(),
    "Only with `include=disambiguation`: tells contributors of one name apart; empty if there is none.",
  ),
);

const sortName = z.optional(
  field(
    z.string(),
    "Only with `include=sort_name`: by what they are sorted; given, or else last name, comma, first name.",
  ),
);

const type = z.optional(field(z.string(), "Only with `include=type`; empty if not known."));

/** What administrative contributors show on request. */
const included = {
  type,
  public: z.optional(field(z.boolean(), "Only with `include=public`: whether public endpoints show them.")),
  client: z.optional(
    field(z.nullable(id), "Only with `include=client`: the website that has them alone; null if all do."),
  ),
  disambiguation,
  sort_name: sortName,
};

export const AdminContributorListItem = z.strictObject({
  ...adminContributor,
  ...included,
  ...listed,
  added,
  locked_by: z.optional(field(UserReference, "Who else is editing them.")),
});

export const AdminContributor = z.strictObject({
  ...adminContributor,
  gender: possible,
  links,
  aliases,
  descriptions,
  relations,
  ...included,
});

export const SeriesReference = z.strictObject({ name: z.string(), slug: z.string() });

export const ContributorListItem = z.strictObject({
  ...contributor,
  slug: z.optional(field(z.string(), "Only with `include=slug`.")),
  disambiguation,
  sort_name: sortName,
  added,
  changed,
  image: urlOrNull,
  gender: possibleOrNull,
  series_count: count,
  random_series: z.optional(field(SeriesReference, "One of the series, chosen at random.")),
});

const foundingDate = z.union([date, z.literal("")]);

export const PublisherListItem = z.strictObject({
  id,
  name: z.string(),
  "short-name": z.string(),
  slug: z.string(),
  country: possible,
  website: urlOrEmpty,
  headquarter: possible,
  series_count: count,
  founding_date: field(foundingDate, "What is known of it: YYYY, YYYY-MM or YYYY-MM-DD; or empty."),
  image: urlOrEmpty,
  image_source: z.string(),
  added,
  changed,
});

export const PublisherAlias = z.strictObject({
  id,
  title: z.string(),
  language: z.string(),
  language_code: languageCode("its"),
});
export const PublisherRelation = z.strictObject({
  id,
  relation_id: field(id, "The other publisher's id."),
  type: z.string(),
  name: z.string(),
  image: z.string(),
  slug: z.string(),
});

export const Letter = z.strictObject({
  letter: field(z.string(), "A letter of any script, or `#` for all that begins with none: the value for `letter`."),
  count: field(count, "How many records a list with this `letter` has."),
});
export const Letters = z.array(Letter);

export const Tag = z.strictObject({ id, name: z.string() });
const cover = {
  cover_path: urlOrEmpty,
  aspect_ratio: field(z.number(), "Width by height."),
  nsfw: zeroOrOne,
  nsfw18: zeroOrOne,
};
export const Volume = z.strictObject({ id, ...cover });

const work = {
  id,
  name: z.string(),
  slug,
  type: z.string(),
  origin: z.string(),
  alias: field(z.string(), "Its name in the requested language; else in English, else the name."),
  description: field(z.string(), "Likewise; else any, or empty."),
  tags: z.array(Tag),
  language_code: languageCode("the alias's"),
  description_language_code: languageCode("the description's"),
  volume: z.optional(field(Volume, "The one that stands for the work: the first with a cover.")),
};

export const Work = z.strictObject(work);
export const SeriesListItem = z.strictObject({ ...work, added, changed });

export const SeriesAlias = z.strictObject({
  id,
  name: z.string(),
  language: z.string(),
  language_code: languageCode("its"),
});

const seriesAliases = z.array(SeriesAlias);

export const Publication = z.strictObject({ ...work, aliases: seriesAliases });

export const Image = z.strictObject({
  url: z.url(),
  width: field(id, "In pixels."),
  height: field(id, "In pixels."),
});
const images = z.optional(
  field(z.array(Image), "Only with `include=images`: the image in its sizes, the smallest first; empty if not known."),
);

const works = <S extends z.ZodMiniType>(item: S, path: string) =>
  z.optional(
    field(
      z.array(item),
      `Only with \`include=works\`: the first 999 of ${path}/{id} by name, or as many as 720 kB have room for.`,
    ),
  );
const seriesCount = z.optional(
  field(count, "Only with `include=series_count`: how many there are, in the client's scope if there is a `client`."),
);

export const Contributor = z.strictObject({
  ...contributor,
  slug,
  type,
  disambiguation,
  sort_name: sortName,
  added,
  changed,
  image: urlOrNull,
  images,
  gender: possibleOrNull,
  links,
  descriptions,
  aliases,
  relations,
  works: works(Work, "/contributor/works"),
  series_count: seriesCount,
});

export const Publisher = z.strictObject({
  id,
  name: z.string(),
  slug,
  image: urlOrEmpty,
  images,
  website: urlOrEmpty,
  domain: field(z.string(), "The website's host, or empty."),
  country: possible,
  "short-name": z.optional(field(z.string(), "Only with `include=short-name`; empty if there is none.")),
  headquarter: z.optional(field(z.string(), "Only with `include=headquarter`; empty if not known.")),
  founding_date: z.optional(
    field(foundingDate, "Only with `include=founding_date`: YYYY, YYYY-MM or YYYY-MM-DD; or empty."),
  ),
  added,
  changed,
  descriptions,
  aliases: z.array(PublisherAlias),
  relations: z.array(PublisherRelation),
  works: works(Publication, "/publisher/publications"),
  series_count: seriesCount,
});

export const SeriesDescription = z.strictObject({
  id,
  description: z.string(),
  language: field(z.string(), "Its English name."),
  language_code: languageCode("its"),
});
export const SeriesVolume = z.strictObject({ id, number: field(z.int(), "Its position in the series."), ...cover });
export const SeriesContributor = z.strictObject({
  ...contributor,
  slug,
  image: urlOrNull,
  role: field(z.string(), "What they did, such as `author and artist`; empty if not known."),
});
export const SeriesPublisher = z.strictObject({ id, name: z.string(), slug, image: urlOrEmpty });

export const Series = z.strictObject({
  id,
  name: z.string(),
  slug,
  type: z.string(),
  origin: z.string(),
  added,
  changed,
  aliases: field(seriesAliases, "Its names in all languages."),
  descriptions: z.array(SeriesDescription),
  tags: z.array(Tag),
  volumes: field(z.array(SeriesVolume), "By number."),
  contributors: field(z.array(SeriesContributor), "The published ones, by sort name."),
  publishers: field(z.array(SeriesPublisher), "By name."),
});
