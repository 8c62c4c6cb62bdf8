/*
 * react-admin's providers: <Admin dataProvider={dataProvider} authProvider={authProvider}> with the resources
 * `contributors`, `users`, `roles` and `permissions`. Lists sort by the words of the service's `order`, such as
 * `changed`. Beside its fields, each record has the version in which it was read.
 */
import { type AnyFailure, createClient } from "colophon-client";

const service = "http://localhost:3000";
/** The website whose contributors the panel edits. */
const client = 1;
/** Also for what react-admin does not know: edit locks and avatars. */
export const colophon = createClient(service);

/** What the requests of each resource ask for, and what saves a form. */
const resources = {
  contributors: {
    listed: { client, include: "type,public,version" },
    read: { include: "type,public", lock: "none" },
    added: { client },
    edit: colophon.editContributor,
  },
  users: { listed: { include: "version" }, read: { lock: "none" }, edit: colophon.editUser },
  roles: { listed: { include: "version" }, edit: colophon.editRole },
  permissions: { listed: { include: "version" }, edit: colophon.editPermission },
} as const;

// biome-ignore lint/suspicious/noExplicitAny: react-admin leaves the types of records to its callers
type Any = any;
type Id = number | string;
type Name = keyof typeof resources;
type Sort = { field: string; order: "ASC" | "DESC" };
type ListParams = { pagination?: { page: number; perPage: number }; sort?: Sort; filter?: Any };

const resourceOf = (name: string): { listed: object; read?: object; added?: object; edit: Any } =>
  resources[name as Name];
const pathOf = (name: string) => `/admin-${name as Name}` as const;

/** What a call has come to, or an error as react-admin shows it: with the reason for each field of the form. */
function ok<Result extends { error?: AnyFailure | undefined }>(result: Result) {
  if (!result.error) return result as Extract<Result, { error?: undefined }>;
  const { code, data, fields = [] } = result.error;
  const message = code === 412 ? "Another user has changed the record: open it again" : data;
  const errors = Object.fromEntries(fields.map(({ name, reason }) => [name, reason]));
  throw Object.assign(new Error(message), { status: code, body: { errors } });
}

async function list(name: string, query: Any): Promise<Any> {
  const { data } = ok(await colophon.GET(pathOf(name), { query: { ...resourceOf(name).listed, ...query } }));
  const { [name]: records = data, max } = data as Any;
  const versioned = records.map((each: Any) => ({ ...each, version: `"${each.version}"` }));
  if (max !== undefined) return { data: versioned, total: max };
  // Roles and permissions are not counted.
  return {
    data: versioned,
    pageInfo: { hasPreviousPage: query.offset > 0, hasNextPage: records.length === query.limit },
  };
}

async function read(name: string, id: Id): Promise<Any> {
  const options = { path: { id: Number(id) }, query: resourceOf(name).read };
  const { data, version } = ok(await colophon.GET(`${pathOf(name)}/id/{id}`, options));
  return { ...data, version };
}

export const dataProvider = {
  getList(name: string, { pagination, sort, filter }: ListParams): Promise<Any> {
    const { page, perPage } = pagination ?? { page: 1, perPage: 100 };
    const order = sort && `${sort.field}-${sort.order.toLowerCase()}`;
    return list(name, { limit: perPage, offset: (page - 1) * perPage, order, ...filter });
  },

  getOne: async (name: string, { id }: { id: Id }): Promise<Any> => ({ data: await read(name, id) }),

  /** What others refer to; a filter of the list has the name of the reference, such as `role` of users. */
  getManyReference: (name: string, { target, id, ...params }: ListParams & { target: string; id: Id }): Promise<Any> =>
    dataProvider.getList(name, { ...params, filter: { ...params.filter, [target]: id } }),

  /** In one request, for up to 200. */
  getMany: (name: string, { ids }: { ids: Id[] }): Promise<Any> => list(name, { ids: ids.join() }),

  /** Users sign up by themselves. */
  async create(name: string, { data }: { data: Any }): Promise<Any> {
    const options = { body: data, query: resourceOf(name).added };
    const { created } = ok(await colophon.POST(`${pathOf(name) as "/admin-roles"}/add`, options));
    return { data: await read(name, created) };
  },

  /** Sends only what the form has changed, for the version that it was opened with. */
  async update(name: string, { id, data, previousData }: { id: Id; data: Any; previousData: Any }): Promise<Any> {
    ok(await resourceOf(name).edit({ data: previousData, version: previousData.version }, data));
    return { data: await read(name, id) };
  },

  async updateMany(name: string, { ids, data }: { ids: Id[]; data: Any }): Promise<Any> {
    for (const id of ids) await dataProvider.update(name, { id, data, previousData: await read(name, id) });
    return { data: ids };
  },

  /** Deletes the version that was shown, if react-admin passes it on. */
  async delete(name: string, { id, previousData }: { id: Id; previousData?: Any }): Promise<Any> {
    const headers = previousData && { "If-Match": previousData.version };
    ok(await colophon.DELETE(`${pathOf(name)}/delete/{id}`, { path: { id: Number(id) }, headers }));
    return { data: previousData ?? { id } };
  },

  async deleteMany(name: string, { ids }: { ids: Id[] }): Promise<Any> {
    for (const id of ids) await dataProvider.delete(name, { id });
    return { data: ids };
  },
};

/** A page of the service signs users in, and leads back to the panel. */
const signIn = () => `${service}/sign-in?to=${encodeURIComponent(location.href)}`;

async function session() {
  const signedIn = await colophon.session();
  if (!signedIn) throw Object.assign(new Error("Please sign in"), { status: 401, redirectTo: signIn() });
  return signedIn;
}

const verbs: Record<string, string> = { list: "view", show: "view", create: "add" };

export const authProvider = {
  login: async () => location.assign(signIn()),
  logout: async () => void (await colophon.POST("/sign-out")),
  checkAuth: async () => void (await session()),
  checkError: async ({ status }: { status?: number }) => void (status === 401 && (await session())),
  async getIdentity() {
    const { user } = await session();
    return { id: user.id, fullName: user.username, ...(user.profile_image && { avatar: user.profile_image }) };
  },
  async canAccess({ action, resource }: { action: string; resource: string }) {
    const permissions: readonly string[] = (await session()).permissions;
    return permissions.includes(`${verbs[action] ?? action}-${resource}`);
  },
};
