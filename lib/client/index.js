import createFetchClient from "openapi-fetch";

/** @type {typeof import("./index.d.ts").createClient} */
export function createClient(baseUrl, options = {}) {
  return createFetchClient({ credentials: "include", ...options, baseUrl, pathSerializer });
}

/** Puts encoded values into a path, `/admin-roles/id/{id}`. */
function pathSerializer(path, parameters) {
  return path.replace(/\{(\w+)\}/g, (_, name) => {
    const value = String(parameters[name] ?? "");
    // Nothing, or dots even if encoded, would make it the path of another endpoint.
    if (["", ".", ".."].includes(value)) throw new TypeError(`No request can be made with the ${name} "${value}"`);
    return encodeURIComponent(value);
  });
}
