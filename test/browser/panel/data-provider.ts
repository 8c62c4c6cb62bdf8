import { type AnyFailure, type Colophon, type EditResult, imageOf, type Opened, type Result } from "colophon-client";
import { type DataProvider, type GetListParams, HttpError } from "ra-core";

/*
 * The service as react-admin asks for it. A form's record carries `opened`: what the record was when the form showed it,
 * and its version. So a save sends what was touched, also when a list or another form has read the record since.
 */

// biome-ignore lint/suspicious/noExplicitAny: what react-admin's lists and forms are made of
type Any = any;
type Answer = Result<Any, AnyFailure>;
type Saved = EditResult<Any, Any, string, AnyFailure>;
type Page = { limit: number; offset: number; order: "asc" | "desc" };
type Named = { id: number; name: string };

interface Resource {
  /** The field that a 409 is about. */
  readonly name: string;
  list(page: Page, filter: Any, signal: AbortSignal | undefined): Promise<{ data: Any[]; total: number }>;
  /** Takes the edit lock only if told to. */
  get(id: number, locking?: boolean, signal?: AbortSignal): Promise<Answer>;
  /** Makes the changes between `opened` and `form` to `onto`, unless that is not what is there any more. */
  edit(opened: Opened<Any>, form: Any, onto: Opened<Any>): Promise<Saved>;
  add?(form: Any): Promise<Answer>;
  remove(id: number): Promise<Answer>;
}

const resourcesOf = (colophon: Colophon): Record<string, Resource> => ({
  contributors: {
    name: "first_name",
    async list({ limit, offset, order }, { client, search }, signal) {
      const query = { client, search, limit, offset, order: `name-${order}` } as const;
      const { contributors, max } = dataOf(await colophon.GET("/admin-contributors", { query, signal }));
      return { data: contributors, total: max };
    },
    get(id, locking, signal) {
      const query = { include: "type,public", lock: locking ? undefined : "none" } as const;
      return colophon.GET("/admin-contributors/id/{id}", { path: { id }, query, signal });
    },
    edit: (opened, form, onto) => colophon.editContributor(opened, form, { onto }),
    add: ({ client, first_name, last_name }) =>
      colophon.POST("/admin-contributors/add", { query: { client }, body: { first_name, last_name } }),
    remove: (id) => colophon.DELETE("/admin-contributors/delete/{id}", { path: { id } }),
  },
  users: {
    name: "username",
    async list({ limit, offset, order }, { search }, signal) {
      const query = { search, limit, offset, order: `name-${order}` } as const;
      const { users, max } = dataOf(await colophon.GET("/admin-users", { query, signal }));
      return { data: users, total: max };
    },
    get(id, locking, signal) {
      const query = { lock: locking ? undefined : "none" } as const;
      return colophon.GET("/admin-users/id/{id}", { path: { id }, query, signal });
    },
    edit: (opened, form, onto) => colophon.editUser(opened, form, { onto }),
    remove: (id) => colophon.DELETE("/admin-users/delete/{id}", { path: { id } }),
  },
  roles: {
    name: "name",
    list: async (page, filter, signal) => pageOf(dataOf(await colophon.GET("/admin-roles", { signal })), page, filter),
    get: (id, _, signal) => colophon.GET("/admin-roles/id/{id}", { path: { id }, signal }),
    edit: (opened, form, onto) => colophon.editRole(opened, form, { onto }),
    add: ({ name, description }) => colophon.POST("/admin-roles/add", { body: { name, description } }),
    remove: (id) => colophon.DELETE("/admin-roles/delete/{id}", { path: { id } }),
  },
  permissions: {
    name: "name",
    list: async (page, filter, signal) =>
      pageOf(dataOf(await colophon.GET("/admin-permissions", { signal })), page, filter),
    get: (id, _, signal) => colophon.GET("/admin-permissions/id/{id}", { path: { id }, signal }),
    async edit(opened, form, onto) {
      const path = { id: opened.data.id };
      const headers = { "If-Match": onto.version };
      const body = namesOf(opened, form, onto);
      const answer = await colophon.POST("/admin-permissions/edit/{id}", { path, headers, body });
      return savedOf(answer, () => this.get(path.id));
    },
    add: ({ name, description }) => colophon.POST("/admin-permissions/add", { body: { name, description } }),
    remove: (id) => colophon.DELETE("/admin-permissions/delete/{id}", { path: { id } }),
  },
});

/** Throws what a form shows at the field, or as a notification if there is none. */
function fail({ code, data }: AnyFailure, field?: PropertyKey, current?: Opened<Any>): never {
  throw new HttpError(data, code, { current, ...(field !== undefined && { errors: { [field]: data } }) });
}

function dataOf<Given extends Answer>({ data, error }: Given): NonNullable<Given["data"]> {
  return error ? fail(error) : data;
}

const openedOf = (answer: Answer): Opened<Any> => ({ data: dataOf(answer), version: answer.version ?? "*" });

/** A page of a list that the service gives whole. */
function pageOf(all: readonly Named[], { limit, offset, order }: Page, { search = "" }: Any) {
  const found = all.filter(({ name }) => name.toLowerCase().includes(search.toLowerCase()));
  found.sort((a, b) => (order === "asc" ? 1 : -1) * a.name.localeCompare(b.name));
  return { data: found.slice(offset, offset + limit), total: found.length };
}

/** Name and description as the form has changed them, or else as they are now. */
function namesOf({ data }: Opened<Any>, form: Any, onto: Opened<Any>) {
  const [name, description] = ["name", "description"].map((field) =>
    form[field] === data[field] ? onto.data[field] : form[field],
  );
  return { name, description };
}

/** What has become of an edit that is no merge patch. */
async function savedOf({ error }: Answer, read: () => Promise<Answer>): Promise<Saved> {
  if (!error) return { status: "saved" };
  if (error.code === 409) return { status: "taken", message: error.data };
  return error.code === 412 ? { status: "conflict", current: openedOf(await read()) } : { status: "refused", error };
}

/** What the panel does beside lists and forms. */
const actionsOf = (colophon: Colophon) => ({
  async setImage(resource: string, id: number, file: Blob) {
    const options = { path: { id }, body: { image: await imageOf(file) } };
    if (resource === "users") dataOf(await colophon.POST("/admin-users/update-image/{id}", options));
    else dataOf(await colophon.POST("/admin-contributors/update-avatar/{id}", options));
  },
  async removeImage(resource: string, id: number) {
    if (resource === "users") dataOf(await colophon.DELETE("/admin-users/delete-image/{id}", { path: { id } }));
    else dataOf(await colophon.DELETE("/admin-contributors/delete-avatar/{id}", { path: { id } }));
  },
  async logOut(id: number) {
    dataOf(await colophon.POST("/admin-users/logout/{id}", { path: { id } }));
  },
  /** Gives the caller's edit lock back, also when the page is being closed. */
  async release(resource: string, id: number) {
    const options = { path: { id }, keepalive: true };
    if (resource === "users") await colophon.DELETE("/admin-users/lock/{id}", options);
    if (resource === "contributors") await colophon.DELETE("/admin-contributors/lock/{id}", options);
  },
});

export type PanelData = DataProvider & ReturnType<typeof actionsOf>;

/** The data provider over this client: `contributors`, `users`, `roles` and `permissions`. */
export function dataProvider(colophon: Colophon): PanelData {
  const resources = resourcesOf(colophon);
  const resourceOf = (name: string): Resource => resources[name] ?? fail({ code: 404, data: `No resource "${name}"` });

  function getList(name: string, { pagination, sort, filter = {}, signal }: GetListParams) {
    const { page, perPage: limit } = pagination ?? { page: 1, perPage: 20 };
    const order = sort?.order === "DESC" ? "desc" : "asc";
    return resourceOf(name).list({ limit, offset: (page - 1) * limit, order }, filter, signal);
  }

  async function read(name: string, id: unknown, locking?: boolean, signal?: AbortSignal): Promise<Any> {
    const opened = openedOf(await resourceOf(name).get(Number(id), locking, signal));
    return { ...opened.data, opened };
  }

  return {
    ...actionsOf(colophon),
    supportAbortSignal: true,
    getList,
    getManyReference: getList,
    getOne: async (name, { id, meta, signal }) => ({ data: await read(name, id, meta?.locking, signal) }),
    getMany: async (name, { ids }) => ({ data: await Promise.all(ids.map((id) => read(name, id))) }),
    async update(name, { data: { opened, ...form }, meta }): Promise<Any> {
      const resource = resourceOf(name);
      const saved = await resource.edit(opened, form, meta?.onto ?? opened);
      if (saved.status === "refused") fail(saved.error);
      if (saved.status === "taken") fail({ code: 409, data: saved.message }, resource.name);
      if (saved.status === "invalid") fail({ code: 400, data: saved.message }, saved.field);
      if (saved.status === "conflict") fail({ code: 412, data: "Changed meanwhile" }, undefined, saved.current);
      return { data: form };
    },
    async create(name, { data }): Promise<Any> {
      const resource = resourceOf(name);
      const { error, created } = (await resource.add?.(data)) ?? {};
      if (error) fail(error, error.code === 409 ? resource.name : "field" in error ? error.field : undefined);
      return { data: { ...data, id: created } };
    },
    async delete(name, { id }): Promise<Any> {
      dataOf(await resourceOf(name).remove(Number(id)));
      return { data: { id } };
    },
    updateMany: () => Promise.reject(new Error("Records are edited one by one")),
    deleteMany: () => Promise.reject(new Error("Records are deleted one by one")),
  };
}
