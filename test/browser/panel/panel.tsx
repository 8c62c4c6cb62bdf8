import { createClient } from "colophon-client";
import { CoreAdmin, useGetIdentity, useLogin, useNotificationContext } from "ra-core";
import type { ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { NavLink } from "react-router";
import { authProvider } from "./auth-provider.ts";
import { dataProvider } from "./data-provider.ts";
import { contributors, permissions, roles, users } from "./resources.tsx";

function Layout({ children }: { readonly children: ReactNode }) {
  const { identity } = useGetIdentity();
  return (
    <>
      <header>
        <nav aria-label="Records">
          {["contributors", "users", "roles", "permissions"].map((resource) => (
            <NavLink key={resource} to={`/${resource}`}>
              {resource}
            </NavLink>
          ))}
        </nav>
        <p>Signed in as {identity?.fullName}</p>
      </header>
      <main>{children}</main>
      <Notifications />
    </>
  );
}

function Notifications() {
  const { notifications } = useNotificationContext();
  return (
    <ul aria-label="Messages" aria-live="polite">
      {notifications.map(({ message }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: messages are only ever added
        <li key={index}>{message}</li>
      ))}
    </ul>
  );
}

/** The service has no login of its own, so this page can only look again. */
function Login() {
  const login = useLogin();
  return (
    <main>
      <h1>You are not signed in</h1>
      <button type="button" onClick={() => login({}).catch(() => {})}>
        I have signed in
      </button>
    </main>
  );
}

const Denied = () => <p role="alert">You may not do this.</p>;

const root = document.getElementById("root");
if (!root) throw new Error("The page has no element for the panel");
const service = new URLSearchParams(location.search).get("service") ?? "http://localhost:3000";
const colophon = createClient(service);
createRoot(root).render(
  <CoreAdmin
    dataProvider={dataProvider(colophon)}
    authProvider={authProvider(colophon)}
    layout={Layout}
    loginPage={Login}
    accessDenied={Denied}
    requireAuth
    disableTelemetry
  >
    {contributors}
    {users}
    {roles}
    {permissions}
  </CoreAdmin>,
);
