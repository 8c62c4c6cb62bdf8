/**
 * The prefix of names that an account has once, whatever the region: those of CloudFront's policies, of dashboards, and
 * of everything that must be in us-east-1. So a stage can come up in another region while it is there in its own.
 *
 * @param prefix that of all names of the stage: `colophon-prod`
 * @param region of the stage's API
 */
export const globalPrefix = (prefix: string, region: string) => `${prefix}-${region}`;
