/** The properties of a new endpoint, and the files to extend. */
export interface Plan {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly permission: string | undefined;
  /** `publishers/countries` */
  readonly stem: string;
  readonly kind: "record" | "list" | "change";
  /** The files with the declarations and the queries of its resource. */
  readonly contract: string;
  readonly queries: string;
  /** The table that a change writes, and the database function that gives a record of it. */
  readonly table: string;
  readonly recordFunction: string;
}

const wordsOf = ({ stem }: Plan) => stem.split(/[/-]/);
const camel = ([first = "", ...rest]: readonly string[]) =>
  first + rest.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
const nameOf = (plan: Plan) => camel(wordsOf(plan));
const queryOf = ({ stem }: Plan) => camel(stem.split("/").at(-1)?.split("-") ?? []);
const changeOf = ({ stem }: Plan) => {
  const [resource = "", verb = ""] = stem.split("/");
  return `${verb}-${resource.replace(/^admin-/, "").replace(/s$/, "")}`;
};
const parametersOf = ({ path }: Plan) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? "");

/** A record may be missing, and changes declare their 500. */
function errorsText(plan: Plan): string {
  const missing = plan.kind === "record" || (plan.kind === "change" && parametersOf(plan).length > 0);
  const errors = [
    ...(missing ? ["404: FILL_IN"] : []),
    ...(plan.kind === "change" ? ['500: "Internal server error"'] : []),
  ];
  return errors.length > 0 ? `{ ${errors.join(", ")} }` : "{}";
}

export function contractText(plan: Plan): string {
  const answers = { record: "record", list: "list", change: "message" }[plan.kind];
  return `
export const ${nameOf(plan)} = declare({
  summary: FILL_IN,
  method: "${plan.method}",
  path: "${plan.path}",
${plan.permission ? `  permission: "${plan.permission}",\n` : ""}${parametersOf(plan)
  .map((name) => `  parameters: { ${name}: FILL_IN },\n`)
  .join("")}${plan.method === "POST" ? "  body: { FILL_IN },\n" : ""}  answers: { ${answers}: FILL_IN },
  errors: ${errorsText(plan)},
});
`;
}

export function functionText(plan: Plan): string {
  const up = "../".repeat(plan.stem.split("/").length);
  const server = { record: "serve", list: "serveList", change: "serveChange" }[plan.kind];
  const file = { record: "serve", list: "serve-list", change: "serve-change" }[plan.kind];
  const [parameter] = parametersOf(plan);
  const target = parameter ? `path.${parameter}` : plan.kind === "change" ? "null" : "";
  const input = [
    ...(plan.kind === "change" ? ["change"] : []),
    ...(parameter ? ["path"] : []),
    ...(plan.method === "POST" ? ["body"] : []),
  ];
  const work =
    plan.kind === "change"
      ? `change("${changeOf(plan).replaceAll("-", "_")}", ${target}${plan.method === "POST" ? ", body" : ""})`
      : `queries.${queryOf(plan)}(${target})`;
  const queries = plan.kind === "change" ? "" : `import * as queries from "${up}${plan.queries}";\n`;
  return `import { ${nameOf(plan)} } from "${up}${plan.contract}";
import { ${server} } from "${up}lib/http/${file}.ts";
${queries}
export const handler = ${server}(${nameOf(plan)}, (${input.length > 0 ? `{ ${input.join(", ")} }` : ""}) => ${work});
`;
}

/** The names that a query's text needs, by module as its file imports them. */
export function queryImports(plan: Plan): readonly (readonly [names: string, module: string])[] {
  const json = plan.permission ? "record" : "recordOf";
  return [
    ["sql", "sql-template-tag"],
    ["type { Answer }", "../contract/declare.ts"],
    [`type { ${queryType(plan)} }`, `../database/${plan.kind === "list" ? "list" : "query"}.ts`],
    ...(plan.kind === "record" ? [[`{ ${json} }`, "./fragments/json.ts"] as const] : []),
  ];
}

const queryType = ({ permission, kind }: Plan) =>
  kind === "list" ? (permission ? "GuardedListQuery" : "ListQuery") : permission ? "GuardedQuery" : "PublicQuery";

const listBody = `  max: sql\`select count(*) from \${FILL_IN}\`,
  fields: sql\`\${FILL_IN}\`,
  key: sql\`id\`,
  rows: ({ after, limit }) => sql\`
    from \${FILL_IN}
    where id > \${after?.id ?? 0}::bigint
    order by id
    limit \${limit}::bigint
  \`,
`;
const guardedRecordBody = `  select: sql\`
    select version, cast(\${record(sql\`\${FILL_IN}\`)} as text) as text
    from \${FILL_IN}
  \`,
`;
const publicRecordBody = `  select: recordOf(sql\`select \${FILL_IN}\`),\n`;

export function queryText(plan: Plan): string {
  const [parameter] = parametersOf(plan);
  const input = parameter ? `${parameter}: FILL_IN` : "";
  const guarded = plan.permission ? "  guarded: true,\n" : "";
  const body = plan.kind === "list" ? listBody : plan.permission ? guardedRecordBody : publicRecordBody;
  return `
export const ${queryOf(plan)} = (${input}): ${queryType(plan)}<Answer<FILL_IN>> => ({
${guarded}${body}});
`;
}

/** The file of a change, and its lines in the list of changes. */
export function changeTexts(plan: Plan) {
  const file = changeOf(plan);
  const name = file.replaceAll("-", "_");
  return {
    file: `lib/changes/${file}.sql`,
    importLine: `import ${camel(file.split("-"))} from "./${file}.sql";`,
    entry: `  ${name}: ${camel(file.split("-"))},`,
    text: `-- ${plan.method} ${plan.path}.
create function ${name}(request request, caller caller) returns outcome language plpgsql as $$
${changeBody(plan)}$$;
`,
  };
}

/** An addition has no record before; an edit counts the versions of its record; a deletion records all of it. */
function changeBody(plan: Plan): string {
  const { method, table, recordFunction } = plan;
  if (parametersOf(plan).length === 0)
    return `  declare
    added bigint;
  begin
    FILL_IN;
    return done(request, caller, record => added);
  end
`;
  const isEdit = method === "POST";
  return `  declare
    before json = ${recordFunction}(request.target);
    error outcome = record_error(request, before);
${isEdit ? "    changed jsonb;\n" : ""}  begin
    if error.status is not null then
      return error;
    end if;

    FILL_IN;
${
  isEdit
    ? `    changed = replaced(before, ${recordFunction}(request.target));
    update ${table} set version = version + 1 where id = request.target and changed <> '{}';
    return edited(request, caller, changed);
`
    : "    return done(request, caller, before);\n"
}  end
`;
}

/** The fields of API Gateway's event that handlers read. */
export const eventText = (plan: Plan): string =>
  `${JSON.stringify(
    {
      resource: plan.path,
      path: plan.path.replace(/\{\w+\}/g, "FILL_IN"),
      httpMethod: plan.method,
      headers: {
        ...(plan.method === "POST" && { "Content-Type": "application/json" }),
        ...(plan.permission && { Cookie: "refreshToken=local-administrator" }),
      },
      ...(parametersOf(plan).length > 0 && {
        pathParameters: Object.fromEntries(parametersOf(plan).map((name) => [name, "FILL_IN"])),
      }),
      ...(plan.method === "POST" && { body: "FILL_IN" }),
      requestContext: { requestId: crypto.randomUUID() },
    },
    undefined,
    2,
  )}\n`;

export function testText(plan: Plan): string {
  const up = "../".repeat(plan.stem.split("/").length);
  const session = plan.permission ? `    const { token } = await holderOf(stack.sql, "${plan.permission}");\n` : "";
  const request = [
    ...(plan.permission ? ["as: token"] : []),
    ...(parametersOf(plan).length > 0 ? ["path: FILL_IN"] : []),
    ...(plan.method === "POST" ? ["body: FILL_IN"] : []),
  ];
  return `import { afterAll, beforeAll, describe, expect, it } from "vitest";
${plan.permission ? `import { holderOf } from "${up}support/people.ts";\n` : ""}import { type Stack, startStack } from "${up}support/stack.ts";

let stack: Stack;

beforeAll(async () => {
  stack = await startStack();
});

afterAll(() => stack.close());

describe("${plan.method} ${plan.path}", () => {
  it("answers 200", async () => {
${session}
    const { status, body } = await stack.call("${plan.stem}"${request.length > 0 ? `, { ${request.join(", ")} }` : ""});

    expect([status, body]).toEqual([200, FILL_IN]);
  });
});
`;
}
