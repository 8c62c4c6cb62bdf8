const names = new Intl.DisplayNames("en", { type: "language", fallback: "none" });

/** The English name of a language given by name or by two-letter code: `de` and `German` are both `German`. */
export function language(nameOrCode: string): string {
  return (/^[a-z]{2}$/i.test(nameOrCode) && names.of(nameOrCode)) || nameOrCode;
}
