import { createClient } from "colophon-client";
import document from "colophon-client/openapi.json" with { type: "json" };

type Operation = { responses: { 200: { content?: { "application/json": { example: unknown } } } } };
const paths = Object.entries(document.paths as Record<string, unknown>) as [string, Record<string, Operation>][];

/** Responds with the document's example. */
function example({ method, url }: Request): Response {
  const { pathname } = new URL(url);
  const found = paths.find(([path]) => new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}$`).test(pathname));
  const content = found?.[1][method.toLowerCase()]?.responses[200].content?.["application/json"];
  return content ? Response.json(content.example) : Response.json({ data: "Not found", code: 404 }, { status: 404 });
}

const fetch = async (url: string, init: RequestInit) => example(new Request(url, init));
const colophon = createClient("http://localhost:3000", { fetch });

const { data } = await colophon.GET("/publisher/slug/{slug}", { path: { slug: "any" } });
console.log(data?.name);
