/** Domains that nobody can have (RFC 2606), and the account of AWS's own examples. */
export const isPlaceholder = (value: unknown): boolean =>
  typeof value === "string" && /(?:^|[@./])example\.(?:com|net|org)\b|\b123456789012\b/.test(value);

/** Where settings still have placeholders: `account.id: 123456789012`. */
export function placeholdersIn(value: unknown, path = ""): string[] {
  if (typeof value === "object" && value !== null)
    return Object.entries(value).flatMap(([name, each]) => placeholdersIn(each, path ? `${path}.${name}` : name));
  return isPlaceholder(value) ? [`${path}: ${value}`] : [];
}
