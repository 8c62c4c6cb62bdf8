import slugify from "@sindresorhus/slugify";

const slugLengthMax = 100;

/** What a slug is made of: the name in small Latin letters, digits and hyphens; the fallback for a name without any. */
export const slugOf = (name: string, fallback: string): string =>
  slugify(name).slice(0, slugLengthMax).replace(/-+$/, "") || fallback;
