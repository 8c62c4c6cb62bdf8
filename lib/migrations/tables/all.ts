import names from "./0001-names.sql";
import access from "./0002-access.sql";
import catalogue from "./0003-catalogue.sql";
import series from "./0004-series.sql";
import tallies from "./0005-tallies.sql";
import roles from "./0006-roles.sql";
import slugs from "./0007-slugs.sql";
import identity from "./0008-identity.sql";
import aliasSearch from "./0009-alias-search.sql";
import changes from "./0010-changes.sql";
import freeSlugs from "./0011-slugs.sql";
import roleUsers from "./0012-role-users.sql";
import changeLock from "./0013-change-lock.sql";
import deletedUsers from "./0014-deleted-users.sql";
import lockSecret from "./0015-lock-secret.sql";
import joiners from "./0016-joiners.sql";
import ledgerIndexes from "./0017-ledger-indexes.sql";
import defaultRole from "./0018-default-role.sql";
import contributorAliasKeys from "./0019-contributor-alias-keys.sql";
import contributorSearch from "./0020-contributor-search.sql";
import publisherSearch from "./0021-publisher-search.sql";
import seriesAliasKeys from "./0022-series-alias-keys.sql";
import seriesSearch from "./0023-series-search.sql";
import staleTags from "./0024-stale-tags.sql";
import tagChanges from "./0025-tag-changes.sql";
import invalidations from "./0026-invalidations.sql";
import effects from "./0027-effects.sql";
import formerSlugs from "./0028-former-slugs.sql";
import imports from "./0029-imports.sql";
import signIn from "./0030-sign-in.sql";
import publishersExternalId from "./0032-publishers-external-id.sql";
import seriesExternalId from "./0033-series-external-id.sql";
import contributorsByExternalId from "./0034-contributors-by-external-id.sql";
import publishersByExternalId from "./0035-publishers-by-external-id.sql";
import seriesByExternalId from "./0036-series-by-external-id.sql";
import contributorsByImage from "./0037-contributors-by-image.sql";
import publishersByImage from "./0038-publishers-by-image.sql";
import usersByImage from "./0039-users-by-image.sql";
import volumesByCover from "./0040-volumes-by-cover.sql";
import awaitedEmailsExpire from "./0041-awaited-emails-expire.sql";
import usedAttempts from "./0042-used-attempts.sql";
import blanksInNames from "./0050-blanks-in-names.sql";

export interface Migration {
  readonly name: string;
  /** Statements, each ended by a semicolon and a blank line, with the next one at the margin. */
  readonly text: string;
}

/**
 * Every migration in the order it is applied. A landed file never changes: what is wrong is put right by the next one.
 * Bodies of functions hold no colon, since the Data API looks for parameters in there too.
 */
export const migrations: readonly Migration[] = [
  { name: "0001-names", text: names },
  { name: "0002-access", text: access },
  { name: "0003-catalogue", text: catalogue },
  { name: "0004-series", text: series },
  { name: "0005-tallies", text: tallies },
  { name: "0006-roles", text: roles },
  { name: "0007-slugs", text: slugs },
  { name: "0008-identity", text: identity },
  { name: "0009-alias-search", text: aliasSearch },
  { name: "0010-changes", text: changes },
  { name: "0011-slugs", text: freeSlugs },
  { name: "0012-role-users", text: roleUsers },
  { name: "0013-change-lock", text: changeLock },
  { name: "0014-deleted-users", text: deletedUsers },
  { name: "0015-lock-secret", text: lockSecret },
  { name: "0016-joiners", text: joiners },
  { name: "0017-ledger-indexes", text: ledgerIndexes },
  { name: "0018-default-role", text: defaultRole },
  { name: "0019-contributor-alias-keys", text: contributorAliasKeys },
  { name: "0020-contributor-search", text: contributorSearch },
  { name: "0021-publisher-search", text: publisherSearch },
  { name: "0022-series-alias-keys", text: seriesAliasKeys },
  { name: "0023-series-search", text: seriesSearch },
  { name: "0024-stale-tags", text: staleTags },
  { name: "0025-tag-changes", text: tagChanges },
  { name: "0026-invalidations", text: invalidations },
  { name: "0027-effects", text: effects },
  { name: "0028-former-slugs", text: formerSlugs },
  { name: "0029-imports", text: imports },
  { name: "0030-sign-in", text: signIn },
  { name: "0032-publishers-external-id", text: publishersExternalId },
  { name: "0033-series-external-id", text: seriesExternalId },
  { name: "0034-contributors-by-external-id", text: contributorsByExternalId },
  { name: "0035-publishers-by-external-id", text: publishersByExternalId },
  { name: "0036-series-by-external-id", text: seriesByExternalId },
  { name: "0037-contributors-by-image", text: contributorsByImage },
  { name: "0038-publishers-by-image", text: publishersByImage },
  { name: "0039-users-by-image", text: usersByImage },
  { name: "0040-volumes-by-cover", text: volumesByCover },
  { name: "0041-awaited-emails-expire", text: awaitedEmailsExpire },
  { name: "0042-used-attempts", text: usedAttempts },
  { name: "0050-blanks-in-names", text: blanksInNames },
];
