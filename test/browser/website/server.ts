import { createServer, type Server, type ServerResponse } from "node:http";
import { createClient } from "colophon-client";
import { type Html, messagePage, peoplePage, personPage } from "./pages.ts";

const pageSize = 12;
const catalogue = 1;

/**
 * A website that renders its pages on the server: a list with search and pages, which links to a page of each person
 * with their works. `api` is the base URL of the service.
 */
export function startWebsite(api: string): Server {
  // Nobody waits for a page as long as for a change.
  const colophon = createClient(api, { credentials: "omit", retry: { seconds: 3 } });

  async function people({ searchParams }: URL, signal: AbortSignal): Promise<Answer> {
    const search = searchParams.get("search") ?? "";
    const number = Math.max(1, Math.trunc(Number(searchParams.get("page"))) || 1);
    const { data, error } = await colophon.GET("/contributors", {
      query: { client: catalogue, include: "slug", search, limit: pageSize, offset: (number - 1) * pageSize },
      signal,
    });
    if (error) return error.code === 400 ? { status: 400, page: messagePage("Bad search") } : unavailable;
    const pages = Math.max(1, Math.ceil(data.max / pageSize));
    if (number > pages) return notFound;
    return { status: 200, page: peoplePage({ search, number, pages, found: data.max, people: data.contributors }) };
  }

  async function person(slug: string, signal: AbortSignal): Promise<Answer> {
    const { data, error } = await colophon.GET("/contributor/slug/{slug}", { path: { slug }, signal });
    if (error) return error.code === 404 ? notFound : unavailable;
    const works = await colophon.GET("/contributor/works/{id}", {
      path: { id: data.id },
      query: { client: catalogue, limit: 100 },
      signal,
    });
    if (works.error) return unavailable;
    return { status: 200, page: personPage(data, works.data.works) };
  }

  return createServer(async ({ url = "/" }, response) => {
    const visit = new AbortController();
    response.once("close", () => visit.abort());
    const target = URL.parse(url, "http://website");
    const slug = target?.pathname.match(/^\/people\/([^/]+)$/)?.[1];
    const answer =
      target?.pathname === "/"
        ? people(target, visit.signal)
        : slug === undefined
          ? notFound
          : person(decoded(slug), visit.signal);
    send(response, await Promise.resolve(answer).catch(() => unavailable));
  });
}

interface Answer {
  readonly status: 200 | 400 | 404 | 503;
  readonly page: Html;
}

const notFound: Answer = { status: 404, page: messagePage("Not found") };
const unavailable: Answer = { status: 503, page: messagePage("Please try again in a minute") };

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function send(response: ServerResponse, { status, page }: Answer): void {
  response.writeHead(status, {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": status === 200 ? "public, max-age=60" : "no-store",
    "Content-Security-Policy": "default-src 'none'; img-src * data:; style-src 'unsafe-inline'; form-action 'self'",
    ...(status === 503 ? { "Retry-After": "60" } : {}),
  });
  response.end(page.html);
}

if (import.meta.main) startWebsite(process.env.API ?? "http://localhost:3000").listen(8080, "localhost");
