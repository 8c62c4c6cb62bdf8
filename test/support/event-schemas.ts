import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { type Api, type Reply, refusal, send } from "./aws-apis.ts";

/** EventBridge's schema registries, as an HTTP handler for the real SDK. */
export interface EventSchemas {
  /** The contents of a schema's versions by `registry/schema`. */
  readonly schemas: Map<string, Map<number, string>>;
  /** What was changed, oldest first: `create-registry`, `create _colophon-dev-session-schema`. */
  readonly changes: string[];
  readonly answer: Api;
}

/** EventBridge Schema Registry API Reference. A schema needs a registry, and has at most five versions here. */
export function makeEventSchemas(): EventSchemas {
  const schemas: EventSchemas["schemas"] = new Map();
  const registries = new Set<string>();
  const changes: string[] = [];
  const newest = (versions: ReadonlyMap<number, string>) => Math.max(...versions.keys());

  const replyTo = async (request: IncomingMessage): Promise<Reply | undefined> => {
    const { pathname } = new URL(request.url ?? "", "http://localhost");
    const { method } = request;
    const body = JSON.parse((await text(request)) || "{}");
    if (pathname === "/v1/discover" && method === "POST") return { status: 200, body: discovered(body) };
    const [, registry = "", schema, rest = ""] =
      /^\/v1\/registries\/name\/([\w.-]+)(?:\/schemas\/name\/([\w.-]+)(.*))?$/.exec(pathname) ?? [];
    if (registry === "") return undefined;
    if (schema === undefined) {
      if (method !== "POST" || registries.has(registry)) return refusal(409, "ConflictException");
      registries.add(registry);
      changes.push("create-registry");
      return { status: 201, body: { RegistryName: registry } };
    }
    const id = `${registry}/${schema}`;
    const versions = schemas.get(id);
    const content = JSON.stringify(JSON.parse(body.Content ?? "null"));
    if (method === "POST") {
      if (!registries.has(registry)) return refusal(404, "NotFoundException");
      if (versions) return refusal(409, "ConflictException");
      schemas.set(id, new Map([[1, content]]));
      changes.push(`create ${schema}`);
      return { status: 201, body: { SchemaName: schema } };
    }
    if (!versions) return refusal(404, "NotFoundException");
    if (rest === "/versions") {
      const SchemaVersions = [...versions.keys()].map((each) => ({ SchemaVersion: `${each}` }));
      return { status: 200, body: { SchemaVersions } };
    }
    const [, version] = /^\/version\/(\d+)$/.exec(rest) ?? [];
    if (method === "DELETE" && version !== undefined) {
      versions.delete(Number(version));
      return { status: 204 };
    }
    if (method === "PUT") {
      if (versions.size >= 5) return refusal(400, "BadRequestException");
      versions.set(newest(versions) + 1, content);
      changes.push(`update ${schema}`);
      return { status: 200, body: { SchemaName: schema } };
    }
    return { status: 200, body: { SchemaName: schema, Content: versions.get(newest(versions)), Type: "OpenApi3" } };
  };

  return {
    schemas,
    changes,
    async answer(request, response) {
      if (!request.url?.startsWith("/v1/")) return false;
      send(response, (await replyTo(request)) ?? refusal(404, "NotFoundException"));
      return true;
    },
  };
}

/** A schema without examples, as `GetDiscoveredSchema` makes of events. */
const discovered = ({ Events: [event = "{}"] }: { readonly Events: readonly string[] }) => ({
  Content: JSON.stringify({
    openapi: "3.0.0",
    info: { version: "1.0.0", title: "Event" },
    paths: {},
    components: { schemas: { Event: { type: "object", required: Object.keys(JSON.parse(event)) } } },
  }),
});
