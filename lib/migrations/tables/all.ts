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
import signIn from "./0030-sign-in.sql";

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
  { name: "0030-sign-in", text: signIn },
];
