import { join } from "node:path";
import { parseArgs } from "node:util";
import { startStack } from "./stack.ts";

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "3000" },
    data: { type: "string", default: join(import.meta.dirname, "../../.local") },
    database: { type: "string" },
    "no-uploads": { type: "boolean", default: false },
    empty: { type: "boolean", default: false },
    scale: { type: "string" },
  },
});

const count = (name: string, text: string): number => {
  if (/^\d+$/.test(text)) return Number(text);
  console.error(`--${name} takes a number, not ${text}`);
  process.exit(1);
};

try {
  const stack = await startStack({
    port: count("port", values.port),
    directory: values.data,
    databaseUrl: values.database,
    uploads: !values["no-uploads"],
    empty: values.empty,
    scale: values.scale === undefined ? 0 : count("scale", values.scale),
    report: console.log,
  });
  const stop = async () => {
    console.log("Stopping");
    await stack.close();
    process.exit();
  };
  process.once("SIGINT", stop).once("SIGTERM", stop);
  console.log(greeting(stack.url));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}

function greeting(url: string): string {
  return `
Colophon answers on ${url}

  Tokens, for this machine only:
    local-administrator   every permission
    local-editor          views, adds and edits contributors
    local-reader          no permission

  Try:
    curl '${url}/contributors?client=1&limit=3'
    curl '${url}/contributor/slug/ursula-k-le-guin'
    curl --cookie refreshToken=local-administrator '${url}/admin-users?limit=3'
`;
}
