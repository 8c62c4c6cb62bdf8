import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { type Api, type Reply, refusal, send } from "./aws-apis.ts";

export interface FakeVersion {
  readonly Version: string;
  readonly Description: string;
  /** ISO 8601. */
  readonly LastModified: string;
  readonly Environment?: { readonly Variables: Readonly<Record<string, string>> };
}

export interface FakeAlias {
  FunctionVersion: string;
}

export interface FakeFunction {
  /** That of its newest code, with which a version is published. */
  readonly description?: string;
  versions: FakeVersion[];
  /** Undefined if the function has no alias `live`. */
  live: FakeAlias | undefined;
}

/** The part of Lambda that knows functions, versions and aliases, as an HTTP handler for the real SDK. */
export interface LambdaApi {
  /** That of the credentials. */
  readonly account: { id: string };
  /** By their names. */
  readonly functions: Map<string, FakeFunction>;
  /** What was changed, oldest first: `UpdateAlias colophon-prod-session 7`. */
  readonly changes: string[];
  /** Errors by function, which the next change of it returns. */
  readonly failures: Map<string, { readonly status: number; readonly type: string }>;
  readonly result: Api;
}

const pageLength = 3;

/** Lists come in pages, and a version of an alias cannot be deleted (Lambda API Reference). */
export function makeLambdaApi(): LambdaApi {
  const account = { id: "123456789012" };
  const functions = new Map<string, FakeFunction>();
  const changes: string[] = [];
  const failures: LambdaApi["failures"] = new Map();

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
    const failure = failureOf(name);
    if (failure) return failure;
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

  /** Lambda never uses a number twice. */
  const lastNumbers = new WeakMap<FakeFunction, number>();
  const publish = (name: string, found: FakeFunction): Reply => {
    const { versions, description: Description = "" } = found;
    const failure = failureOf(name);
    if (failure) return failure;
    const number = 1 + Math.max(lastNumbers.get(found) ?? 0, ...versions.map(({ Version }) => Number(Version)));
    lastNumbers.set(found, number);
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
    if (call === "POST /versions") return publish(name, found);
    if (call === "GET /configuration") return { status: 200, body: { State: "Active" } };
    if (call === "GET /versions") return page("Versions", [{ Version: "$LATEST" }, ...versions], marker);
    if (call === "GET /aliases") return page("Aliases", live ? [{ Name: "live", ...live }] : [], marker);
    if (rest === "/aliases/live") {
      if (!live) return refusal(404, "ResourceNotFoundException");
      if (request.method === "GET") return { status: 200, body: { Name: "live", ...live } };
      return updateAlias(name, live, JSON.parse(await text(request)));
    }
    const version = searchParams.get("Qualifier");
    if (call === "DELETE " && version) return deleteVersion(name, found, version);
    return refusal(400, "InvalidParameterValueException");
  };

  return {
    account,
    functions,
    changes,
    failures,
    async result(request, response) {
      const reply = await replyTo(request);
      if (!reply) return false;
      send(response, reply);
      return true;
    },
  };
}
