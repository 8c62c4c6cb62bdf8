let names: Intl.DisplayNames | undefined;

/**
 * The English name of a language given by name or by two-letter code: `de` and `German` are both `German`. ICU's table of
 * names takes longer to load than all the rest of a function, so it is loaded by the first code.
 */
export function language(nameOrCode: string): string {
  if (!/^[a-z]{2}$/i.test(nameOrCode)) return nameOrCode;
  names ??= new Intl.DisplayNames("en", { type: "language", fallback: "none" });
  return names.of(nameOrCode) ?? nameOrCode;
}
