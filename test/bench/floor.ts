import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Pool } from "pg";
import { bind } from "../../infra/aws-local/data-api/parameters.ts";
import type { Captured } from "./compare.ts";

/*
 * The least that a service needs to send the same statements: node:http, a connection pool, and a prepared statement for
 * each request. PostgreSQL makes the JSON; nothing checks the request, and the pieces of a response are only joined.
 */

const [databaseUrl = "", text = "[]"] = process.argv.slice(2);
const captured: readonly Captured[] = JSON.parse(text);
const asText = { getTypeParser: () => (text: string) => text };
const pool = new Pool({ connectionString: databaseUrl, max: 16, options: "-c TimeZone=UTC", types: asText });

const prepared = new Map(
  captured.map(({ name, path, statement }) => {
    const { text, values } = bind(statement.sql, statement.parameters);
    return [path, { name, text, values: [...values], rowMode: "array" as const }];
  }),
);

const server = createServer(async ({ url = "" }, response) => {
  const query = prepared.get(url);
  if (!query) return response.writeHead(404).end();
  try {
    const { rows } = await pool.query<(string | null)[]>(query);
    const body = rows.flat().join("");
    const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
    response.writeHead(200, headers).end(body);
  } catch (error) {
    console.error(error);
    response.writeHead(500).end();
  }
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.once("disconnect", () => process.exit());
