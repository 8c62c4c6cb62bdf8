import type { Colophon, Session } from "colophon-client";
import { type AuthProvider, HttpError } from "ra-core";

/** The permission that an action of react-admin needs, such as `edit-users`. */
const verbs: Readonly<Record<string, string>> = {
  list: "view",
  show: "view",
  edit: "edit",
  create: "add",
  delete: "delete",
};

/** Who is signed in and what they may do. The panel signs nobody in: the session is a cookie of the service. */
export function authProvider(colophon: Colophon): AuthProvider {
  let session: Promise<Session> | undefined;

  const current = () => {
    session ??= colophon.queryOptions("/session").queryFn();
    return session;
  };
  const renewed = async () => {
    session = undefined;
    await current();
  };

  return {
    login: renewed,
    checkAuth: renewed,
    async logout() {
      session = undefined;
    },
    async checkError(error) {
      if (error instanceof HttpError && error.status === 401) throw new Error("Your session has ended");
    },
    async getIdentity() {
      const { user } = await current();
      return { id: user.id, fullName: user.username };
    },
    getPermissions: async () => (await current()).permissions,
    async canAccess({ action, resource }) {
      return (await current()).permissions.some((permission) => permission === `${verbs[action]}-${resource}`);
    },
  };
}
