const interesting = /['":]|--|\/\*/g;
const identifierCharacter = /[\w$\u0080-\uffff]/;

/**
 * Calls `visit` for every colon outside of strings, quoted identifiers and comments. The scan goes on where `visit` says.
 */
export function findColons(sql: string, visit: (at: number) => number): void {
  interesting.lastIndex = 0;
  for (let found = interesting.exec(sql); found; found = interesting.exec(sql)) {
    const [opening] = found;
    const at = found.index;
    if (opening === ":") interesting.lastIndex = visit(at);
    else if (opening === "--") interesting.lastIndex = afterLine(sql, at);
    else if (opening === "/*") interesting.lastIndex = afterComment(sql, at);
    else interesting.lastIndex = afterQuote(sql, at, opening);
  }
}

function afterLine(sql: string, at: number): number {
  const end = sql.indexOf("\n", at);
  return end < 0 ? sql.length : end + 1;
}

function afterComment(sql: string, at: number): number {
  const marks = /\/\*|\*\//g;
  marks.lastIndex = at;
  let depth = 0;
  for (let mark = marks.exec(sql); mark; mark = marks.exec(sql)) {
    depth += mark[0] === "/*" ? 1 : -1;
    if (depth === 0) return marks.lastIndex;
  }
  return sql.length;
}

function afterQuote(sql: string, at: number, quote: string): number {
  const escapes = quote === "'" && hasEscapePrefix(sql, at);
  for (let next = at + 1; next < sql.length; next += 1) {
    if (escapes && sql[next] === "\\") next += 1;
    else if (sql[next] === quote) {
      if (sql[next + 1] !== quote) return next + 1;
      next += 1;
    }
  }
  return sql.length;
}

/** E'...' and e'...', but not the end of an identifier such as `type'...'`. */
function hasEscapePrefix(sql: string, at: number): boolean {
  return /e/i.test(sql.charAt(at - 1)) && !identifierCharacter.test(sql.charAt(at - 2));
}
