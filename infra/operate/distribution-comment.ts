/**
 * What a distribution is for, where it is listed: the console shows it, and operators find the distribution by it
 * (infra/restore.md, "A lost region"). Those of the same stage in two regions differ in nothing else.
 */
export const commentOf = (content: string, domain: string, region: string) => `${content} of ${domain}, ${region}`;
