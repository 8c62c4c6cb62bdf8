/** How an attempt to sign in ends that does not succeed; the log's field `signIn`, by which alarms count. */
export type Ending =
  /** the attempt, or what the provider answers, is not as it should be */
  | "failed"
  /** the provider refused, or its account is not known here */
  | "refused"
  /** the provider, or something of this service, gives no proper answer; later it may */
  | "unavailable";

/** What a person is told. */
export type Told = "invalid" | "denied" | "stranger" | "unavailable";

const endings: Readonly<Record<Told, Ending>> = {
  invalid: "failed",
  denied: "refused",
  stranger: "refused",
  unavailable: "unavailable",
};

/** Somebody is not signed in. */
export class SignInFailure extends Error {
  override readonly name = "SignInFailure";
  readonly told: Told;
  readonly ending: Ending;

  /** @param reason for the log: words and codes, and nothing that comes from a request, a token or a person */
  constructor(told: Told, reason: string) {
    super(reason);
    this.told = told;
    this.ending = endings[told];
  }
}
