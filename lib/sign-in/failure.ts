/** How a sign-in ends that does not succeed: its page, and the log's field `signIn`, by which alarms count. */
export type Outcome =
  /** the provider refused, or its account is not known here */
  | "denied"
  /** the attempt, or what came back for it, is not as it should be */
  | "invalid"
  /** the provider, or something of this service, gives no proper answer; later it may */
  | "unavailable";

export class SignInFailure extends Error {
  override readonly name = "SignInFailure";
  readonly outcome: Outcome;

  /** @param reason for the log: words and codes, and nothing that comes from a request, a token or a person */
  constructor(outcome: Outcome, reason: string) {
    super(reason);
    this.outcome = outcome;
  }
}
