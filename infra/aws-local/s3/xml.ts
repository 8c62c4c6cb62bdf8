export const escapeXml = (text: string): string => text.replace(/[\p{Cc}&<>"]/gu, (each) => `&#${each.charCodeAt(0)};`);

/** An element with a text; or, of an object, with its fields as elements. */
export const element = (
  name: string,
  content: string | number | boolean | Readonly<Record<string, unknown>>,
): string =>
  typeof content === "object"
    ? `<${name}>${elements(content)}</${name}>`
    : `<${name}>${escapeXml(`${content}`)}</${name}>`;

const elements = (fields: Readonly<Record<string, unknown>>): string =>
  Object.entries(fields)
    .map(([name, value]) => (value === undefined ? "" : element(name, `${value}`)))
    .join("");

/** The content of all elements of this name. */
export const contentsOf = (name: string, xml: string): string[] =>
  Array.from(xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, "gs")), ([, content = ""]) => content);

/** The text of the first element of this name. */
export function textOf(name: string, xml: string): string | undefined {
  const [text] = contentsOf(name, xml);
  return text && unescapeXml(text);
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

const unescapeXml = (text: string): string =>
  text.replace(/&(?:#x([\da-f]+)|(\w+));/gi, (whole, code, name) =>
    code ? String.fromCodePoint(Number.parseInt(code, 16)) : (entities[name] ?? whole),
  );
