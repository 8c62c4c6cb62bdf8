/* What .ci/generators tries in JavaScript, beside the packages that it has installed. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createClient } from "@hey-api/openapi-ts";
import postman from "openapi-to-postmanv2";
import { generate } from "orval";

const text = await readFile("openapi.json", "utf8");
const operations = Object.values(JSON.parse(text).paths).flatMap(Object.values);

await generate({
  input: { target: "openapi.json" },
  output: { client: "zod", mode: "single", target: "./orval.ts" },
});
await createClient({ input: "openapi.json", output: "hey-api", plugins: ["zod"], logs: { level: "silent" } });
for (const module of ["./orval.ts", "./hey-api/zod.gen.ts"]) {
  const schemas = Object.keys(await import(module));
  assert.ok(schemas.length > operations.length, `${module} has ${schemas.length} schemas`);
  console.log(`${module}: ${schemas.length} schemas`);
}

const { output } = await new Promise((resolve, reject) =>
  postman.convert({ type: "string", data: text }, {}, (error, result) =>
    error || !result.result ? reject(error ?? new Error(result.reason)) : resolve(result),
  ),
);
const requestsIn = ({ item, request }) => (item ? item.flatMap(requestsIn) : [request]);
const requests = requestsIn(output[0].data);
const bodies = requests.flatMap(({ body }) => (body?.raw === undefined ? [] : [JSON.parse(body.raw)]));
assert.equal(requests.length, operations.length);
assert.equal(bodies.length, operations.filter(({ requestBody }) => requestBody).length);
for (const body of bodies) assert.ok(Object.keys(body ?? {}).length > 0, "a body is empty");
console.log(`Postman: ${requests.length} requests, ${bodies.length} bodies`);
