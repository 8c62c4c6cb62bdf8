import * as z from "zod/mini";
import { permissions } from "./permissions.ts";

/*
 * The records of the interface ("Resources and their fields"), and of what is beyond it. An unknown field is an error. Tests and documents use
 * these schemas; functions use only their types.
 */

const id = z.int().check(z.positive());
const count = z.int().check(z.nonnegative());
const zeroOrOne = z.union([z.literal(0), z.literal(1)]);
/** ISO 8601 in UTC: 2026-11-20T10:15:00.000Z */
const instant = z.iso.datetime({ precision: 3 });
const urlOrEmpty = z.union([z.url(), z.literal("")]);
const urlOrNull = z.nullable(z.url());

const userReference = z.strictObject({ id, username: z.string() });

export const Envelope = z.strictObject({ data: z.string(), code: z.int() });

export const Session = z.strictObject({
  user: z.strictObject({ id, slug: z.string(), username: z.string(), profile_image: urlOrNull }),
  /** The keys of those of the fifteen that the user holds. */
  permissions: z.array(z.enum(Object.keys(permissions))),
  expires: instant,
});

export const Slug = z.string().check(z.minLength(1));

export const Permission = z.strictObject({ id, name: z.string(), description: z.string() });

export const RoleListItem = z.strictObject({
  id,
  name: z.string(),
  description: z.nullable(z.string()),
  permission_count: count,
  user_count: count,
});

export const Role = z.strictObject({
  id,
  name: z.string(),
  description: z.string(),
  is_default: zeroOrOne,
  permissions: z.array(Permission),
});

export const UserListItem = z.strictObject({
  id,
  slug: z.string(),
  username: z.string(),
  age_verified: z.boolean(),
  profile_image: urlOrEmpty,
  registered: instant,
  roles: z.array(z.strictObject({ id, name: z.string(), description: z.string() })),
  lock: z.nullable(userReference),
});

export const User = z.strictObject({
  id,
  slug: z.string(),
  username: z.string(),
  profile_image: urlOrNull,
  registered: instant,
  age_verified: z.boolean(),
  logged_in: z.boolean(),
  roles: z.array(z.strictObject({ id, name: z.string(), description: z.nullable(z.string()) })),
});

const link = z.strictObject({ url: z.url(), domain: z.string() });
const description = z.strictObject({ id, description: z.string(), language: z.string(), source: z.string() });
const contributorAlias = z.strictObject({ id, name: z.string() });
const contributorRelation = z.strictObject({
  id,
  relation_id: id,
  relation_type: z.string(),
  name: z.string(),
  first_name: z.string(),
  last_name: z.string(),
  slug: z.string(),
});

export const AdminContributorListItem = z.strictObject({
  id,
  first_name: z.string(),
  last_name: z.string(),
  slug: z.string(),
  image: urlOrEmpty,
  locked_by: z.optional(userReference),
});

export const AdminContributor = z.strictObject({
  id,
  first_name: z.string(),
  last_name: z.string(),
  slug: z.string(),
  image: urlOrEmpty,
  gender: z.string(),
  links: z.array(link),
  aliases: z.array(contributorAlias),
  descriptions: z.array(description),
  relations: z.array(contributorRelation),
  /** Only with `include=type`. */
  type: z.optional(z.string()),
  /** Only with `include=public`. */
  public: z.optional(z.boolean()),
});

export const ContributorListItem = z.strictObject({
  id,
  first_name: z.string(),
  last_name: z.string(),
  /** Only with `include=slug`. */
  slug: z.optional(z.string()),
  image: urlOrNull,
  gender: z.nullable(z.string()),
  series_count: count,
  random_series: z.optional(z.strictObject({ name: z.string(), slug: z.string() })),
});

export const Contributor = z.strictObject({
  id,
  first_name: z.string(),
  last_name: z.string(),
  slug: z.string(),
  image: urlOrNull,
  gender: z.nullable(z.string()),
  links: z.array(link),
  descriptions: z.array(description),
  aliases: z.array(contributorAlias),
  relations: z.array(contributorRelation),
});

export const PublisherListItem = z.strictObject({
  id,
  name: z.string(),
  "short-name": z.string(),
  slug: z.string(),
  country: z.string(),
  website: urlOrEmpty,
  headquarter: z.string(),
  series_count: count,
  founding_date: z.union([z.iso.date(), z.literal("")]),
  image: urlOrEmpty,
  image_source: z.string(),
});

export const Publisher = z.strictObject({
  id,
  name: z.string(),
  slug: z.string(),
  image: urlOrEmpty,
  website: urlOrEmpty,
  domain: z.string(),
  country: z.string(),
  descriptions: z.array(description),
  aliases: z.array(z.strictObject({ id, title: z.string(), language: z.string() })),
  relations: z.array(
    z.strictObject({ id, relation_id: id, type: z.string(), name: z.string(), image: z.string(), slug: z.string() }),
  ),
});

const work = {
  id,
  name: z.string(),
  slug: z.string(),
  type: z.string(),
  origin: z.string(),
  alias: z.string(),
  description: z.string(),
  tags: z.array(z.strictObject({ id, name: z.string() })),
  volume: z.optional(
    z.strictObject({
      id,
      cover_path: urlOrEmpty,
      aspect_ratio: z.number(),
      nsfw: zeroOrOne,
      nsfw18: zeroOrOne,
    }),
  ),
};

export const Work = z.strictObject(work);

export const Publication = z.strictObject({
  ...work,
  aliases: z.array(z.strictObject({ id, name: z.string(), language: z.string() })),
});
