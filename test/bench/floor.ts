import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Pool } from "pg";
import { bind } from "../../infra/aws-local/data-api/parameters.ts";
import type { Statement } from "../../infra/local/plan.ts";

/*
 * The least that a service needs for the same answers: node:http, a connection pool, and one prepared statement per
 * request. PostgreSQL makes the JSON. Only the statement checks the request.
 */

export interface FloorRoute {
  readonly url: string;
  readonly statement: Statement;
  /** The field of the list, and the size of a page. Undefined for a list without an envelope. */
  readonly page?: { readonly field: string; readonly limit: number };
}

const [databaseUrl = "", text = "[]"] = process.argv.slice(2);
const routes: readonly FloorRoute[] = JSON.parse(text);
const asText = { getTypeParser: () => (text: string) => text };
const pool = new Pool({ connectionString: databaseUrl, max: 16, options: "-c TimeZone=UTC", types: asText });

const prepared = new Map(
  routes.map(({ url, statement, page }, index) => {
    const { text, values } = bind(statement.sql, statement.parameters);
    return [url, { query: { name: `route ${index}`, text, values }, page }];
  }),
);

interface Answer {
  readonly body?: string;
  readonly records?: string;
  readonly max?: string;
}

function bodyOf({ body, records, max }: Answer, page: FloorRoute["page"]): string {
  if (body !== undefined) return body;
  if (!page) return `[${records}]`;
  return `{"${page.field}":[${records}],"max":${max},"from":0,"to":${Math.min(Number(max), page.limit)}}`;
}

const server = createServer(async ({ url = "" }, response) => {
  const route = prepared.get(url);
  if (!route) return response.writeHead(404).end();
  try {
    const { rows } = await pool.query<Answer>(route.query);
    const [answer] = rows;
    if (!answer) return response.writeHead(403).end();
    const body = bodyOf(answer, route.page);
    response
      .writeHead(200, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) })
      .end(body);
  } catch (error) {
    console.error(error);
    response.writeHead(500).end();
  }
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.once("disconnect", () => process.exit());
