import { paths } from "./paths.js";

export function createClient(baseUrl, { fetch, headers: ownHeaders, retry: ownRetry, onSignedOut, ...own } = {}) {
  if (!/^(https?:\/\/|\/|$)/.test(baseUrl))
    throw new TypeError(`The base URL "${baseUrl}" has no scheme: write https://${baseUrl} or http://${baseUrl}`);
  /** Who is signed in, as the service said last. */
  let session;

  /** Sends a request, and again while that may help. */
  async function request(method, path, options = {}) {
    expectKnown(method, path);
    const { path: parameters, query, body, patch, headers, retry = ownRetry, ...others } = options;
    const head = new Headers({ ...ownHeaders, ...headers });
    if (patch ?? body) head.set("Content-Type", patch ? "application/merge-patch+json" : "application/json");
    // Under a key of its own a change is made once, however often it is sent.
    if (method !== "GET" && !head.has("Idempotency-Key")) head.set("Idempotency-Key", newKey());
    const init = { ...own, ...others, method, headers: head, body: JSON.stringify(patch ?? body) };
    // Browsers hide what is public from pages of other origins if they send cookies along. There a preference would also
    // cost a preflight.
    if (/^\/(admin-|session|sign-out)/.test(path)) {
      init.credentials ??= "include";
      if (!head.has("Prefer")) head.set("Prefer", "handling=strict");
    }
    const search = `?${new URLSearchParams(Object.entries(query ?? {}).filter(([, value]) => !isEmpty(value)))}`;
    const url = baseUrl.replace(/\/+$/, "") + pathOf(path, parameters) + (search === "?" ? "" : search);
    const limits = { attemptSeconds: isUpload.test(path) ? 300 : 35, ...(retry === false ? { attempts: 1 } : retry) };
    return { url, ...(await send(fetch ?? globalThis.fetch, url, init, limits)) };
  }

  async function call(method, path, options) {
    const { url, response, text } = await request(method, path, options);
    if (path === "/sign-out" || response.status === 401) session = undefined;
    if (response.status === 401) onSignedOut?.();
    if (!response.ok) return { error: errorOf(response, text), response };
    const version = response.headers.get("ETag") ?? undefined;
    const created = /\/(\d+)$/.exec(response.headers.get("Location") ?? "")?.[1];
    const result = { data: dataOf(text, url), response, version, ...(created && { created: Number(created) }) };
    return method === "GET" && opensLock(path, options) ? { ...result, close: () => close(path, options) } : result;
  }

  /** Releases the edit lock of a detail. The request outlives its page. */
  async function close(path, { path: parameters }) {
    await call("DELETE", path.replace("/id/", "/lock/"), { path: parameters, keepalive: true });
  }

  async function readSession() {
    const { url, response, text } = await request("GET", "/session");
    if (response.status === 401) return undefined;
    if (!response.ok) throw new RequestFailed(errorOf(response, text), response);
    const data = dataOf(text, url);
    return { ...data, can: (permission) => data.permissions.includes(permission) };
  }

  /** What is known is asked for again after a failure, and after nobody was signed in. */
  function sessionOnce() {
    session ??= readSession();
    const reading = session;
    const forget = () => {
      if (session === reading) session = undefined;
    };
    reading.then((known) => known ?? forget(), forget);
    return reading;
  }

  async function read(path, options) {
    const { data, error, response, version } = await call("GET", path, options);
    if (error) throw new RequestFailed(error, response);
    return { data, version };
  }

  async function* pages(path, { pageSize = 100, ...options } = {}) {
    for (let offset = options.query?.offset ?? 0, page; ; offset = page.to) {
      page = (await read(path, { ...options, query: { ...options.query, limit: pageSize, offset } })).data;
      yield page;
      if (page.to >= page.max || page.to === page.from) return;
    }
  }

  async function all(path, options) {
    const records = new Map();
    // If records are added meanwhile, a page repeats some of the page before.
    for await (const page of pages(path, options))
      for (const record of Object.values(page).find(Array.isArray)) records.set(record.id, record);
    return [...records.values()];
  }

  /** What is there now, with what was included before; it takes no lock. */
  function reopen(resource, { data }, options) {
    const include = ["type", "public", "client"].filter((name) => name in data).join();
    const path = `${resource}/id/{id}`;
    const query = opensLock(path) ? { lock: "none", include } : {};
    return call("GET", path, { ...options, path: { id: data.id }, query });
  }

  /** Sends what the form has changed since the record was opened, if no other user has changed it since. */
  async function edit(resource, contentOf, opened, form, { onto = opened, ...options } = {}) {
    if (!onto.version) throw new TypeError("The record was opened without its version, the ETag of the response");
    // JSON leaves out what is undefined, so that it stays as it is.
    const content = contentOf(opened.data, { ...opened.data, ...JSON.parse(JSON.stringify(form)) }, onto.data);
    const headers = { ...options.headers, "If-Match": onto.version };
    const change = { ...options, path: { id: opened.data.id }, ...content, headers };
    const { error } = await call("POST", `${resource}/edit/{id}`, change);
    if (!error) return { status: "saved" };
    if (error.code === 409) return { status: "taken", error };
    if (error.code === 400) return { status: "invalid", error: errorOfForm(error) };
    if (error.code !== 412) return { status: "refused", error };
    const now = await reopen(resource, opened, options);
    if (now.error) return { status: "refused", error: now.error };
    return { status: "conflict", error, current: { data: now.data, version: now.version } };
  }

  /** Sets an avatar, and opens the record again: if nothing else has changed, a form that is open is no conflict. */
  async function updateAvatar(opened, file, options) {
    const [path, body] = [{ id: opened.data.id }, { image: await imageOf(file) }];
    const { error } = await call("POST", "/admin-contributors/update-avatar/{id}", { ...options, path, body });
    if (error) return { status: "refused", error };
    const { data, version } = await reopen("/admin-contributors", opened, options);
    const latest = { ...opened.data, image: data?.image ?? opened.data.image };
    const isAlone = JSON.stringify(data) === JSON.stringify(latest);
    return { status: "saved", opened: { data: latest, version: isAlone ? version : opened.version } };
  }

  return {
    GET: (path, options) => call("GET", path, options),
    POST: (path, options) => call("POST", path, options),
    DELETE: (path, options) => call("DELETE", path, options),
    pages,
    all,
    session: sessionOnce,
    editContributor: (opened, form, options) => edit("/admin-contributors", contributorPatch, opened, form, options),
    editUser: (opened, form, options) => edit("/admin-users", userPatch, opened, form, options),
    editRole: (opened, form, options) => edit("/admin-roles", roleBody, opened, form, options),
    editPermission: (opened, form, options) => edit("/admin-permissions", permissionBody, opened, form, options),
    updateAvatar,
    queryOptions: (path, options = {}) => ({
      queryKey: [path, options.path ?? {}, options.query ?? {}],
      queryFn: async ({ signal } = {}) => {
        const opened = await read(path, { ...options, signal });
        return /^\/admin-.*\/id\//.test(path) ? opened : opened.data;
      },
    }),
  };
}

export class RequestFailed extends Error {
  constructor(error, response) {
    super(error.data);
    Object.assign(this, { name: "RequestFailed", error, response });
  }
}

export async function imageOf(file) {
  const prefix = `data:${file.type || "application/octet-stream"};base64,`;
  // The service takes so many characters, prefix included.
  if (prefix.length + 4 * Math.ceil(file.size / 3) > 6_000_000) throw new RangeError("The image is larger than 4.5 MB");
  const bytes = new Uint8Array(await file.arrayBuffer());
  return prefix + btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/** An image takes long on a slow line. */
const isUpload = /\/update-(avatar|image)\//;

/** Opening these details takes the caller's edit lock. */
const opensLock = (path, options) =>
  /^\/admin-(contributors|users)\/id\/\{id\}$/.test(path) && options?.query?.lock !== "none";

/** Without types a mistyped path is seen only when it is sent. */
function expectKnown(method, path) {
  if (paths[method].includes(path)) return;
  const distanceOf = (other) => ({ other, distance: distance(path, other) });
  const [nearest] = paths[method].map(distanceOf).sort((one, two) => one.distance - two.distance);
  throw new TypeError(`There is no ${method} ${path}; did you mean ${nearest.other}?`);
}

/** How many characters must be inserted, deleted or replaced to make one text of the other (Levenshtein). */
function distance(one, other) {
  let row = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (const [index, character] of [...one].entries()) {
    const next = [index + 1];
    for (let column = 0; column < other.length; column++) {
      const replaced = row[column] + (other[column] === character ? 0 : 1);
      next.push(Math.min(replaced, row[column + 1] + 1, next[column] + 1));
    }
    row = next;
  }
  return row[other.length];
}

/** Puts encoded values into a path, `/admin-roles/id/{id}`. */
function pathOf(path, parameters = {}) {
  return path.replace(/\{(\w+)\}/g, (_, name) => {
    const value = String(parameters[name] ?? "");
    // Nothing, or dots even if encoded, would make it the path of another endpoint.
    if (["", ".", ".."].includes(value)) throw new TypeError(`No request can be made with the ${name} "${value}"`);
    return encodeURIComponent(value);
  });
}

/** Random, and to be had on pages without https, where `crypto.randomUUID` is missing. */
const newKey = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("-");

/** Sends a request until its response is final, or the attempts or the seconds of waiting are used up. */
async function send(fetch, url, init, { attempts = 3, seconds = 30, attemptSeconds }) {
  for (let attempt = 1, secondsLeft = seconds; ; attempt++) {
    const timeout = AbortSignal.timeout(attemptSeconds * 1_000);
    const signal = init.signal ? AbortSignal.any([init.signal, timeout]) : timeout;
    const result = await fetch(url, { ...init, signal })
      .then(async (response) => ({ response, text: await response.text() }))
      .catch((failure) => ({ failure }));
    init.signal?.throwIfAborted();
    const wait = secondsToWait(result.response, attempt);
    if (!(wait <= secondsLeft) || attempt >= attempts) {
      if (result.response) return result;
      const { failure } = result;
      throw new TypeError(`No response from ${url.replace(/\?.*/, "")}: ${failure.message}`, { cause: failure });
    }
    secondsLeft -= wait;
    await new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, wait * 1_000);
      init.signal?.addEventListener("abort", () => clearTimeout(timer), { once: true });
      init.signal?.addEventListener("abort", () => reject(init.signal.reason), { once: true });
    });
  }
}

/** The seconds until a request is sent again; undefined or NaN if the response is final. A lost one has no response. */
function secondsToWait(response, attempt) {
  const retryAfter = response?.headers.get("Retry-After");
  // A 503 without the header will not change: there is no file service.
  if (response && ![429, retryAfter && 503, 504].includes(response.status)) return undefined;
  if (!retryAfter) return 2 ** (attempt - 2) * (0.5 + Math.random());
  const seconds = Number(retryAfter);
  // A proxy may write it as a date (RFC 9110, 10.2.3).
  return Number.isNaN(seconds) ? Math.max(0, (Date.parse(retryAfter) - Date.now()) / 1_000) : seconds;
}

/** A page of another server, as of a proxy or of the website itself, is no response of the service. */
function dataOf(text, url) {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new TypeError(`${url} responds with no JSON, so it is no address of the service`, { cause });
  }
}

/** The error in an envelope, with the parameters that are wrong; of a proxy's own page only the status is known. */
function errorOf({ status, headers }, text) {
  let data = `HTTP status ${status}`;
  try {
    data = JSON.parse(text).data ?? data;
  } catch {}
  if (status !== 400) return { code: status, data };
  const fields = fieldsIn(headers.get("Invalid-Parameters") ?? "");
  return { code: status, data, field: fields[0]?.name, fields };
}

/** The error with the names of the form's fields. */
function errorOfForm(error) {
  const fields = error.fields.map((field) => ({
    ...field,
    name: field.name.replace(/^(added|removed|modified)_/, ""),
  }));
  return { ...error, field: fields[0]?.name, fields };
}

/** What the service says of each parameter, in a list of structured fields (RFC 9651): `name;reason="missing", …`. */
function fieldsIn(header) {
  const fields = [];
  for (const [, key, item] of header.matchAll(/(?:;(\w+)=)?(%?"(?:[^"\\]|\\.)*"|[^\s;,="]+)/g)) {
    if (key) fields.at(-1)[key] = bareOf(item);
    else fields.push({ name: String(bareOf(item)) });
  }
  return fields;
}

function bareOf(item) {
  if (item.startsWith('%"')) return decodeURIComponent(item.slice(2, -1));
  return /^["\d]/.test(item) ? JSON.parse(item) : item;
}

/** What an edit of a contributor sends: fields as they are now, and elements that are new, removed or changed. */
function contributorPatch(opened, form, current) {
  const unread = ["type", "public", "disambiguation", "sort_name"].find(
    (name) => !(name in opened) && !isEmpty(form[name]),
  );
  if (unread)
    throw new TypeError(`The contributor was opened without "${unread}", so the client cannot know if it has changed`);
  const [old, edited, now] = [opened.links, form.links, current.links].map(urlsOf);
  const links = [...without(edited, without(old, now)), ...without(now, [...old, ...edited])];
  const patch = {
    ...changedFields(
      ["first_name", "last_name", "gender", "type", "public", "disambiguation", "sort_name"],
      opened,
      form,
      null,
    ),
    ...(JSON.stringify(old) !== JSON.stringify(edited) && { links }),
    // An alias is its name, so a renamed one is removed and added.
    ...changedElements("aliases", ["name"], (alias) => alias.name, opened, form, current),
    ...changedElements("descriptions", ["description", "language", "source"], idOf, opened, form, current),
    ...changedElements("relations", ["relation_id", "relation_type"], idOf, opened, form, current),
  };
  return { patch };
}

const userPatch = (opened, form) => ({
  patch: { ...changedFields(["username", "age_verified"], opened, form, null), ...changedIds("roles", opened, form) },
});

/** A role has no merge patch, but what is left out stays, except the name, which is required. */
const roleBody = (opened, form, { name }) => ({
  body: {
    name,
    ...changedFields(["name", "description"], opened, form, ""),
    ...changedIds("permissions", opened, form),
  },
});

/** A permission has no merge patch, and both of its fields are required. */
const permissionBody = (opened, form, { name, description }) => ({
  body: { name, description, ...changedFields(["name", "description"], opened, form, "") },
});

function changedIds(kind, opened, form) {
  const [old, edited] = [opened[kind], form[kind] || []].map((all) => all.map((each) => Number(idOf(each))));
  return withoutEmpty({ [`added_${kind}`]: without(edited, old), [`removed_${kind}`]: without(old, edited) });
}

const isEmpty = (value) => value === undefined || value === null || value === "";
/** As the service keeps it: forms have other line breaks. */
const textOf = (value) => `${value ?? ""}`.replace(/\r\n?/g, "\n");
const idOf = (element) => String(element.id ?? element);
const urlsOf = (links) => (links || []).map((link) => link.url ?? link).filter(Boolean);
const without = (some, others) => some.filter((each) => !others.includes(each));

/** The fields of the form that differ; an empty one becomes `empty`. */
function changedFields(names, opened, form, empty) {
  const changed = names.filter((name) => form[name] !== undefined && textOf(form[name]) !== textOf(opened[name]));
  return Object.fromEntries(changed.map((name) => [name, isEmpty(form[name]) ? empty : form[name]]));
}

function changedElements(kind, names, keyOf, opened, form, current) {
  const [added, modified, removed] = [[], [], [...opened[kind]]];
  for (const element of (form[kind] || []).map((each) => (typeof each === "string" ? { name: each } : each))) {
    const index = removed.findIndex((old) => keyOf(old) === keyOf(element));
    const [old] = index < 0 ? [] : removed.splice(index, 1);
    const fields = changedFields(names, old ?? {}, element, "");
    const has = (record, { id }) => record[kind].some((each) => each.id === id);
    const isAdded = (each) => !has(opened, each) && names.every((key) => each[key] === element[key]);
    const isSettled = element.id ? has(opened, element) !== has(current, element) : current[kind].some(isAdded);
    // What a person has left empty in a form is no element. What others have removed or added meanwhile needs no more.
    if ((isSettled && !old) || Object.keys(fields).length === 0) continue;
    old ? modified.push({ id: old.id, ...fields }) : added.push(fields);
  }
  const isThere = ({ id }) => current[kind].some((element) => element.id === id);
  return withoutEmpty({
    [`added_${kind}`]: added,
    [`removed_${kind}`]: removed.filter(isThere).map(({ id }) => id),
    [`modified_${kind}`]: modified.filter(isThere),
  });
}

const withoutEmpty = (lists) => Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0));
