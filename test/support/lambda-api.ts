import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { type Reply, refusal, send } from "./aws-apis.ts";

interface FakeVersion {
  readonly Version: string;
  readonly Description: string;
  /** ISO 8601. */
  readonly LastModified: string;
  readonly Environment?: { readonly Variables: Readonly<Record<string, string>> };
}

export interface FakeAlias {
  FunctionVersion: string;
}

interface FakeFunction {
  /** That of its newest code, with which a version is published. */
  readonly description?: string;
  versions: FakeVersion[];
  /** Undefined if the function has no alias `live`. */
  live: FakeAlias | undefined;
}

const pageLength = 3;

/**
 * The part of Lambda that knows functions, versions and aliases, as an HTTP handler for the real SDK. Lists come in pages,
 * and a version of an alias cannot be deleted (Lambda API Reference).
 */
export function makeLambdaApi() {
  /** That of the credentials. */
  const account = { id: "123456789012" };
  /** By their names. */
  const functions = new Map<string, FakeFunction>();
  /** What was changed, oldest first: `UpdateAlias colophon-prod-session 7`. */
  const changes: string[] = [];
  /** Errors by function, which the next change of it returns. */
  const failures = new Map<string, { readonly status: number; readonly type: string }>();

  const page = (field: string, items: readonly object[], marker: string | null): Reply => {
    const from = Number(marker ?? 0);
    const rest = from + pageLength < items.length ? { NextMarker: `${from + pageLength}` } : {};
    return { status: 200, body: { [field]: items.slice(from, from + pageLength), ...rest } };
  };

  const failureOf = (name: string): Reply | undefined => {
    const failure = failures.get(name);
    failures.delete(name);
    return failure && refusal(failure.status, failure.type);
  };

  const updateAlias = (name: string, alias: FakeAlias, update: FakeAlias): Reply => {
    changes.push(`UpdateAlias ${name} ${update.FunctionVersion}`);
    // What the request leaves out stays.
    Object.assign(alias, update);
    return { status: 200, body: { Name: "live", ...alias } };
  };

  const deleteVersion = (name: string, { versions, live }: FakeFunction, version: string): Reply => {
    if (live?.FunctionVersion === version) return refusal(409, "ResourceConflictException");
    versions.splice(0, versions.length, ...versions.filter(({ Version }) => Version !== version));
    changes.push(`DeleteFunction ${name} ${version}`);
    return { status: 204 };
  };

  const publish = (name: string, { versions, description: Description = "" }: FakeFunction): Reply => {
    const number = 1 + Math.max(0, ...versions.map(({ Version }) => Number(Version)));
    const version = { Version: `${number}`, Description, LastModified: "" };
    versions.push(version);
    changes.push(`PublishVersion ${name} ${number}`);
    return { status: 201, body: version };
  };

  const replyTo = async (request: IncomingMessage): Promise<Reply | undefined> => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
    const marker = searchParams.get("Marker");
    const [, target = "", rest = ""] = /^\/2015-03-31\/functions\/([^/]*)(\/.*)?$/.exec(pathname) ?? [];
    const name = decodeURIComponent(target).replace(`${account.id}:function:`, "");
    const call = `${request.method} ${rest}`;
    const arnOf = (each: string) => `arn:aws:lambda:eu-central-1:${account.id}:function:${each}`;
    if (name === "" && call === "GET ") {
      const all = [...functions.keys()].map((each) => ({ FunctionName: each, FunctionArn: arnOf(each) }));
      return page("Functions", all, marker);
    }
    const found = functions.get(name);
    if (call.endsWith("/invocations")) return undefined;
    if (!found) return refusal(404, "ResourceNotFoundException");
    const { versions, live } = found;
    if (call === "POST /versions") return failureOf(name) ?? publish(name, found);
    if (call === "GET /configuration") return { status: 200, body: { State: "Active" } };
    if (call === "GET /versions") return page("Versions", [{ Version: "$LATEST" }, ...versions], marker);
    if (call === "GET /aliases") return page("Aliases", live ? [{ Name: "live", ...live }] : [], marker);
    if (live && call === "GET /aliases/live") return { status: 200, body: { Name: "live", ...live } };
    if (live && rest === "/aliases/live")
      return failureOf(name) ?? updateAlias(name, live, JSON.parse(await text(request)));
    const version = searchParams.get("Qualifier");
    if (call === "DELETE " && version) return deleteVersion(name, found, version);
    return refusal(404, "ResourceNotFoundException");
  };

  const result = async (request: IncomingMessage, response: ServerResponse): Promise<boolean> => {
    const reply = await replyTo(request);
    if (reply) send(response, reply);
    return reply !== undefined;
  };
  return { account, functions, changes, failures, result };
}
