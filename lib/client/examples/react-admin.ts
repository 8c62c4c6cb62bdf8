/*
 * react-admin's providers: <Admin dataProvider={dataProvider} authProvider={authProvider}> with the resources
 * `contributors`, `users` and `roles`. A record has its version, a number, beside its fields.
 */
import { type AnyFailure, createClient } from "colophon-client";

const service = "http://localhost:3000";
const colophon = createClient(service);
/** The website whose contributors the panel edits. */
const client = 1;

// biome-ignore lint/suspicious/noExplicitAny: react-admin leaves the types of records to its callers
type Any = any;
type Id = number | string;
type Sort = { field: string; order: "ASC" | "DESC" };
type ListParams = { pagination?: { page: number; perPage: number }; sort?: Sort; filter?: Any };
type Versioned = { path: { id: number }; headers?: Record<string, string> };

/** An error as react-admin shows it: each field of the form that is wrong has its reason. */
function failure(status: number, message: string, errors: Record<string, string> = {}): Error {
  return Object.assign(new Error(message), { status, body: { errors } });
}

/** What a call has resolved to, unless that is an error. */
function ok<Result extends { error?: AnyFailure | undefined }>(result: Result): Extract<Result, { error?: undefined }> {
  if (!isFailed(result)) return result as Extract<Result, { error?: undefined }>;
  const { code, data, fields = [] } = result.error;
  throw failure(code, data, Object.fromEntries(fields.map(({ name, reason }) => [name, reason])));
}
const isFailed = (result: { error?: AnyFailure | undefined }): result is { error: AnyFailure } => !!result.error;

const resources = {
  contributors: {
    async list(query: Any, { field, order }: Sort) {
      const by = `${field === "last_name" ? "sort-name" : "name"}-${order === "ASC" ? "asc" : "desc"}` as const;
      const options = { query: { client, include: "type,public,version", order: by, ...query } } as const;
      const { contributors, max } = ok(await colophon.GET("/admin-contributors", options)).data;
      return { data: contributors, total: max };
    },
    open: (id: number) =>
      colophon.GET("/admin-contributors/id/{id}", { path: { id }, query: { include: "type,public", lock: "none" } }),
    add: (body: Any) => colophon.POST("/admin-contributors/add", { query: { client }, body }),
    edit: (opened: Any, form: Any) => colophon.editContributor(opened, form),
    remove: (options: Versioned) => colophon.DELETE("/admin-contributors/delete/{id}", options),
  },
  users: {
    async list(query: Any, { field, order }: Sort) {
      const by = `${field === "registered" ? "registered" : "name"}-${order === "ASC" ? "asc" : "desc"}` as const;
      const { users, max } = ok(
        await colophon.GET("/admin-users", { query: { include: "version", order: by, ...query } }),
      ).data;
      return { data: users, total: max };
    },
    open: (id: number) => colophon.GET("/admin-users/id/{id}", { path: { id }, query: { lock: "none" } }),
    add: undefined,
    edit: (opened: Any, form: Any) => colophon.editUser(opened, form),
    remove: (options: Versioned) => colophon.DELETE("/admin-users/delete/{id}", options),
  },
  roles: {
    async list({ ids }: Any) {
      const { data } = ok(await colophon.GET("/admin-roles", { query: { include: "version", ...(ids && { ids }) } }));
      return { data, total: data.length };
    },
    open: (id: number) => colophon.GET("/admin-roles/id/{id}", { path: { id } }),
    add: (body: Any) => colophon.POST("/admin-roles/add", { body }),
    edit: (opened: Any, form: Any) => colophon.editRole(opened, form),
    remove: (options: Versioned) => colophon.DELETE("/admin-roles/delete/{id}", options),
  },
};

function resourceOf(name: string) {
  if (name === "contributors" || name === "users" || name === "roles") return resources[name];
  throw new TypeError(`There is no resource ${name}`);
}

async function read(name: string, id: Id): Promise<Any> {
  const { data, version } = ok(await resourceOf(name).open(Number(id)));
  return { ...data, version: Number(/\d+/.exec(version)?.[0]) };
}

/** A record's version as `If-Match` takes it. */
const tagOf = ({ version }: Any) => `"${version}"`;

export const dataProvider = {
  async getList(
    name: string,
    { pagination, sort = { field: "id", order: "ASC" }, filter = {} }: ListParams,
  ): Promise<Any> {
    const { page = 1, perPage = 100 } = pagination ?? {};
    return await resourceOf(name).list({ limit: perPage, offset: (page - 1) * perPage, ...filter }, sort);
  },

  getOne: async (name: string, { id }: { id: Id }): Promise<Any> => ({ data: await read(name, id) }),

  /** What others refer to; a filter of the list has the name of the reference, such as `role` of users. */
  getManyReference: (name: string, { target, id, ...params }: ListParams & { target: string; id: Id }): Promise<Any> =>
    dataProvider.getList(name, { ...params, filter: { ...params.filter, [target]: Number(id) } }),

  /** In one request; react-admin sorts the records itself. */
  async getMany(name: string, { ids }: { ids: Id[] }): Promise<Any> {
    const { data } = await resourceOf(name).list({ ids: ids.join() }, { field: "id", order: "ASC" });
    return { data };
  },

  async create(name: string, { data }: { data: Any }): Promise<Any> {
    const { add } = resourceOf(name);
    if (!add) throw failure(405, `${name} sign up by themselves`);
    return { data: await read(name, ok(await add(data)).created) };
  },

  /** Sends only what the form has changed, for the version that it was opened with. */
  async update(name: string, { id, data, previousData }: { id: Id; data: Any; previousData: Any }): Promise<Any> {
    const result = await resourceOf(name).edit({ data: previousData, version: tagOf(previousData) }, data);
    if (result.status === "conflict") throw failure(412, "Another user has changed the record: open it again");
    ok(result);
    return { data: await read(name, id) };
  },

  async updateMany(name: string, { ids, data }: { ids: Id[]; data: Any }): Promise<Any> {
    for (const id of ids) await dataProvider.update(name, { id, data, previousData: await read(name, id) });
    return { data: ids };
  },

  /** Deletes the version that was shown, if react-admin passes it on. */
  async delete(name: string, { id, previousData }: { id: Id; previousData?: Any }): Promise<Any> {
    const headers = previousData?.version && { headers: { "If-Match": tagOf(previousData) } };
    ok(await resourceOf(name).remove({ path: { id: Number(id) }, ...headers }));
    return { data: previousData ?? { id } };
  },

  async deleteMany(name: string, { ids }: { ids: Id[] }): Promise<Any> {
    for (const id of ids) await dataProvider.delete(name, { id });
    return { data: ids };
  },
};

const verbs: Record<string, string> = { list: "view", show: "view", edit: "edit", create: "add", delete: "delete" };

export const authProvider = {
  login: async () => location.assign(`${service}/sign-in?to=${encodeURIComponent(location.pathname)}`),
  logout: async () => void (await colophon.POST("/sign-out")),
  async checkAuth(): Promise<void> {
    if (!(await colophon.session())) throw failure(401, "Please sign in");
  },
  async checkError({ status }: { status?: number }): Promise<void> {
    if (status === 401) throw failure(401, "Please sign in");
  },
  async getIdentity() {
    const { user } = (await colophon.session()) ?? {};
    if (!user) throw failure(401, "Please sign in");
    return { id: user.id, fullName: user.username, ...(user.profile_image ? { avatar: user.profile_image } : {}) };
  },
  getPermissions: async () => (await colophon.session())?.permissions ?? [],
  async canAccess({ action, resource }: { action: string; resource: string }): Promise<boolean> {
    const permissions: readonly string[] = (await colophon.session())?.permissions ?? [];
    return permissions.includes(`${verbs[action] ?? action}-${resource}`);
  },
};
