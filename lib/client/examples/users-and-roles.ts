import { createClient } from "colophon-client";

const colophon = createClient("http://localhost:3000");

const [user] = await colophon.all("/admin-users", { query: { search: "inkwell" } });
const { data: roles = [] } = await colophon.GET("/admin-roles");
const auditor = roles.find(({ name }) => name === "Auditor");
if (!user || !auditor) throw new Error("Missing");

const opened = await colophon.GET("/admin-users/id/{id}", { path: { id: user.id } });
if (opened.error) throw new Error(opened.error.data);
const result = await colophon.editUser(opened, { roles: [...opened.data.roles, auditor] });
console.log(result.status);

const role = await colophon.GET("/admin-roles/id/{id}", { path: { id: auditor.id } });
if (role.error) throw new Error(role.error.data);
const edited = await colophon.editRole(role, { ...role.data, name: "Reviewer" });
console.log(edited.status);
