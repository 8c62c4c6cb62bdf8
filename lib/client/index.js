/** @type {typeof import("./index.d.ts").createClient} */
export function createClient(baseUrl, { credentials = "include", fetch: send = fetch, headers: common } = {}) {
  const base = baseUrl.replace(/\/$/, "");
  const call =
    (method) =>
    async (path, { path: parameters, query, body, patch, headers, signal } = {}) => {
      const type = patch === undefined ? "application/json" : "application/merge-patch+json";
      const content = patch ?? body;
      const request = new Request(`${base}${filled(path, parameters)}${searchOf(query)}`, {
        method,
        credentials,
        headers: [
          ...new Headers(common),
          ...(content === undefined ? [] : [["Content-Type", type]]),
          ...new Headers(headers),
        ],
        body: content === undefined ? undefined : JSON.stringify(content),
        signal,
      });
      return resultOf(await send(request));
    };
  return { GET: call("GET"), POST: call("POST"), DELETE: call("DELETE") };
}

/** Puts encoded values into a path, `/admin-roles/id/{id}`. */
function filled(path, parameters = {}) {
  return path.replace(/\{(\w+)\}/g, (_, name) => {
    const value = String(parameters[name] ?? "");
    // Nothing, or dots even if encoded, would make it the path of another endpoint.
    if (["", ".", ".."].includes(value)) throw new TypeError(`No request can be made with the ${name} "${value}"`);
    return encodeURIComponent(value);
  });
}

function searchOf(query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}

async function resultOf(response) {
  const content = await response.json();
  if (!response.ok) return { error: withField(content), response };
  const created = response.headers.get("Location")?.match(/\d+$/);
  return {
    data: content,
    response,
    version: response.headers.get("ETag") ?? undefined,
    ...(created ? { created: Number(created) } : {}),
  };
}

/** The envelope of an error, with the name of the parameter that a 400 blames. */
function withField(envelope) {
  const [, field] = /^Invalid parameter: (.+)$/.exec(envelope.data) ?? [];
  return envelope.code === 400 ? { ...envelope, field } : envelope;
}
