import slugify from "@sindresorhus/slugify";

const slugLengthMax = 100;

/**
 * The slug of a name, in Latin letters, digits and hyphens, before the database makes it unique. A name without these
 * gets the fallback. NFKC takes ligatures such as ﬁ apart, and gives other forms of a letter as that letter.
 */
export const slugOf = (name: string, fallback: string): string =>
  slugify(name.normalize("NFKC")).slice(0, slugLengthMax).replace(/-+$/, "") || fallback;
