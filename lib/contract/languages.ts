let names: Intl.DisplayNames | undefined;

/**
 * The English name of a language, by its name or two-letter code: `de` and `German` both give `German`. ICU's table of
 * names takes longer to load than the rest of a function, so only the first code loads it.
 */
export function language(nameOrCode: string): string {
  if (!/^[a-z]{2}$/i.test(nameOrCode)) return nameOrCode;
  names ??= new Intl.DisplayNames("en", { type: "language", fallback: "none" });
  return names.of(nameOrCode) ?? nameOrCode;
}
