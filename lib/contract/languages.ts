let names: ReadonlyMap<string, string> | undefined;

/**
 * The English name of a language, by its two-letter code or its name in any case: `de` and `german` both give `German`.
 * A name that is not known stays as it is. ICU's table takes longer to load than the rest of a function, so only the
 * first language loads it.
 */
export function language(nameOrCode: string): string {
  names ??= languageNames();
  return names.get(nameOrCode.toLowerCase()) ?? nameOrCode;
}

function languageNames(): ReadonlyMap<string, string> {
  const display = new Intl.DisplayNames("en", { type: "language", fallback: "none" });
  const letters = [..."abcdefghijklmnopqrstuvwxyz"];
  const codes = letters.flatMap((first) => letters.map((second) => first + second));
  const known = codes.flatMap((code) => {
    const name = display.of(code);
    return name === undefined ? [] : [[code, name] as const, [name.toLowerCase(), name] as const];
  });
  return new Map(known);
}
