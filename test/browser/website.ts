import { createServer, type Server } from "node:http";
import { createClient } from "colophon-client";

const pageSize = 12;
const notFound = { status: 404, html: "<h1>Not found</h1>" };
const unavailable = { status: 503, html: "<h1>Please try again in a minute</h1>" };

/** Fills a template, and escapes every text. */
const html = (strings: TemplateStringsArray, ...values: readonly (string | number | { readonly list: string[] })[]) =>
  String.raw(
    { raw: strings },
    ...values.map((value) =>
      typeof value === "object"
        ? value.list.join("")
        : String(value).replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`),
    ),
  );

/** A website that renders on the server: people with search and pages, and a person with works. */
export function startWebsite(api: string): Server {
  // Visitors wait for a page less long than editors for a change.
  const colophon = createClient(api, { credentials: "omit", retry: { seconds: 3 } });

  async function people(parameters: URLSearchParams) {
    const search = parameters.get("search") ?? "";
    const page = Math.max(1, Math.trunc(Number(parameters.get("page"))) || 1);
    const { data, error } = await colophon.GET("/contributors", {
      query: { client: 1, include: "slug", search, limit: pageSize, offset: (page - 1) * pageSize },
    });
    if (error) return error.code === 400 ? { status: 400, html: "<h1>Bad search</h1>" } : unavailable;
    const next = new URLSearchParams({ search, page: String(page + 1) }).toString();
    const items = data.contributors.map(
      ({ slug, first_name, last_name }) =>
        html`<li><a href="/people/${encodeURIComponent(slug)}">${`${first_name} ${last_name}`.trim()}</a></li>`,
    );
    const links = data.to < data.max ? [html`<a rel="next" href="/?${next}">Next</a>`] : [];
    return {
      status: 200,
      html: html`<h1>People</h1><form><input name="search" aria-label="Name" value="${search}"><button>Search</button>
        </form><ul>${{ list: items }}</ul>${{ list: links }}`,
    };
  }

  async function person(slug: string) {
    const { data, error } = await colophon.GET("/contributor/slug/{slug}", { path: { slug } });
    if (error) return error.code === 404 ? notFound : unavailable;
    const works = await colophon.all("/contributor/works/{id}", { path: { id: data.id }, query: { client: 1 } });
    const items = works.map(({ name, description }) => html`<li><b>${name}</b> ${description}</li>`);
    return { status: 200, html: html`<h1>${data.first_name} ${data.last_name}</h1><ul>${{ list: items }}</ul>` };
  }

  return createServer(async ({ url = "/" }, response) => {
    const { pathname, searchParams } = new URL(url, "http://website");
    const [, slug] = /^\/people\/([\w-]+)$/.exec(pathname) ?? [];
    const page = slug ? person(slug) : pathname === "/" ? people(searchParams) : notFound;
    const { status, html } = await Promise.resolve(page).catch(() => unavailable);
    response.writeHead(status, {
      "Content-Type": "text/html; charset=utf-8",
      "Cache-Control": status === 200 ? "public, max-age=60" : "no-store",
      "Content-Security-Policy": "default-src 'none'; form-action 'self'",
    });
    response.end(`<!doctype html><title>People</title>${html}`);
  });
}

if (import.meta.main) startWebsite(process.env.API ?? "http://localhost:3000").listen(8080, "localhost");
