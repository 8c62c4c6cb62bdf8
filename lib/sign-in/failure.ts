/** How an attempt fails: its page, and the log's field `signIn`, which alarms count. */
export type Outcome =
  /** the provider refused, or no user has this identity */
  | "denied"
  /** the cookie, the callback's URL or the ID token is wrong or too old */
  | "invalid"
  /** the provider, Secrets Manager or the database failed */
  | "unavailable";

export class SignInFailure extends Error {
  override readonly name = "SignInFailure";
  readonly outcome: Outcome;

  /** @param reason for the log: constant words and codes, nothing from a request, a token or a user */
  constructor(outcome: Outcome, reason: string) {
    super(reason);
    this.outcome = outcome;
  }
}
