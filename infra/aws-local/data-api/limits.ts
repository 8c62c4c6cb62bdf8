/** What the service allows; each can be changed for a test (AWS, RDS Data API limits page and model). */
export const serviceLimits = {
  /** Bytes of one result as PostgreSQL sends it: the values, 4 bytes a column and 2 bytes a row. */
  resultBytes: 1024 * 1024,
  /** Documented as 64 KB a row; one live test read a larger one, so it may be laxer than this. */
  rowBytes: 64 * 1024,
  sqlCharacters: 65_536,
  /** The whole HTTP request, headers included. */
  requestBytes: 4 * 1024 * 1024,
  statementTimeoutInMilliseconds: 45_000,
  transactionIdleInMilliseconds: 3 * 60_000,
};

export type Limits = Readonly<typeof serviceLimits>;
