const interesting = /['":;$]|--|\/\*/g;
const dollarTag = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y;
const identifierCharacter = /[\w$\u0080-\uffff]/;

/** Calls `visit` for every colon and semicolon outside of strings, quoted identifiers and comments. */
export function scan(sql: string, options: { dollarQuotes: boolean }, visit: (at: number) => number): void {
  interesting.lastIndex = 0;
  for (let found = interesting.exec(sql); found; found = interesting.exec(sql)) {
    const at = found.index;
    const character = found[0];
    interesting.lastIndex = character === ":" || character === ";" ? visit(at) : skip(sql, at, character, options);
  }
}

/** Whether a second statement follows the first; a semicolon at the end, and comments behind it, make none. */
export function isMultistatement(sql: string): boolean {
  let end = -1;
  scan(sql, { dollarQuotes: true }, (at) => {
    if (sql[at] === ";" && end < 0) end = at + 1;
    return at + 1;
  });
  return end >= 0 && hasCode(sql, end);
}

function hasCode(sql: string, start: number): boolean {
  for (let at = start; at < sql.length; ) {
    if (/[\s;]/.test(sql.charAt(at))) at += 1;
    else if (sql.startsWith("--", at)) at = afterLine(sql, at);
    else if (sql.startsWith("/*", at)) at = afterComment(sql, at);
    else return true;
  }
  return false;
}

function skip(sql: string, at: number, opening: string, { dollarQuotes }: { dollarQuotes: boolean }): number {
  if (opening === "--") return afterLine(sql, at);
  if (opening === "/*") return afterComment(sql, at);
  if (opening === "$") return dollarQuotes ? afterDollarQuote(sql, at) : at + 1;
  return afterQuote(sql, at, opening, opening === "'" && hasEscapePrefix(sql, at));
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

function afterQuote(sql: string, at: number, quote: string, escapes: boolean): number {
  for (let next = at + 1; next < sql.length; next += 1) {
    if (escapes && sql[next] === "\\") next += 1;
    else if (sql[next] === quote) {
      if (sql[next + 1] !== quote) return next + 1;
      next += 1;
    }
  }
  return sql.length;
}

function afterDollarQuote(sql: string, at: number): number {
  dollarTag.lastIndex = at;
  const tag = isIdentifierCharacter(sql, at - 1) ? undefined : dollarTag.exec(sql)?.[0];
  if (tag === undefined) return at + 1;
  const end = sql.indexOf(tag, at + tag.length);
  return end < 0 ? sql.length : end + tag.length;
}

/** E'...' and e'...', but not the end of an identifier such as `type'...'`. */
function hasEscapePrefix(sql: string, at: number): boolean {
  return /e/i.test(sql.charAt(at - 1)) && !isIdentifierCharacter(sql, at - 2);
}

const isIdentifierCharacter = (sql: string, at: number) => at >= 0 && identifierCharacter.test(sql.charAt(at));
