import { readFileSync } from "node:fs";
import { documentFile, localServer } from "../api/openapi/file.ts";

interface FileOptions {
  /** The path of the files, as for the page. */
  readonly base: string;
  /** Where the API is, without a slash at the end: in the document, and in the examples of the guide. */
  readonly server: string;
}

interface Document {
  readonly info: { readonly title: string; readonly summary: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly tags: readonly string[]; readonly summary: string }>>>
  >;
}

/** What programs and readers without JavaScript get instead of the page, by the files' names. */
export function referenceFiles({ base, server }: FileOptions) {
  const text = readFileSync(documentFile, "utf8").replaceAll(localServer, server);
  const document: Document = JSON.parse(text);
  const { title, description } = document.info;
  return {
    "openapi.json": text,
    "guide.md": `# ${title}\n\n${description}\n`,
    "llms.txt": summaryOf(document, base),
  };
}

/** A map of the reference for language models (https://llmstxt.org). */
function summaryOf({ info, tags, paths }: Document, base: string): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([
        method,
        {
          tags: [tag],
          summary,
        },
      ]) => ({
        tag,
        line: `- \`${method.toUpperCase()} ${path}\`: ${summary}`,
      }),
    ),
  );
  const sections = tags.map(({ name, description }) => {
    const lines = operations.flatMap(({ tag, line }) => (tag === name ? [line] : []));
    return `## ${name}\n\n${description}\n\n${lines.join("\n")}\n`;
  });
  const links = [
    `- [Guide](${base}guide.md): a first request, signing in, pages, errors, versions, caching, limits`,
    `- [OpenAPI document](${base}openapi.json): parameters, bodies, responses and examples of each operation`,
  ];
  return `# ${info.title}\n\n> ${info.summary}\n\n${links.join("\n")}\n\n${sections.join("\n")}`;
}
