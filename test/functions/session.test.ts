import { describe, expect, it } from "vitest";
import { permissions } from "../../lib/contract/permissions.ts";
import { useHolder } from "../support/callers.ts";
import { imageBaseUrl, panelOrigin } from "../support/environment.ts";
import { anAdministrator, aSession, aUser, holderOf } from "../support/people.ts";
import { aPermission, aRole, give } from "../support/records.ts";
import { useStack } from "../support/stack.ts";
import { unchanged } from "../support/unchanged.ts";

const stack = useStack();
const editor = useHolder(stack, "view-users", "edit-contributors", "view-contributors");

const session = (as?: string, headers: Readonly<Record<string, string>> = {}) => stack.call("session", { as, headers });

describe("GET /session", () => {
  it("returns 200 with the user, the permissions they hold, and the end of this session", async () => {
    const user = await aUser(stack.sql, "Ada Whole");
    await stack.sql`update users set image = 'users/ada.webp' where id = ${user.id}`;
    const [one, other] = [await aRole(stack.sql, "view-roles", "add-roles"), await aRole(stack.sql, "view-roles")];
    await give(stack.sql, user, one);
    await give(stack.sql, user, other);
    const token = await aSession(stack.sql, user.id);
    await stack.sql`
      update refresh_tokens set expires_at = '2096-11-20 12:15:00.5+02' where digest = sha256(${token}::bytea)
    `;

    const { status, body } = await session(token);

    expect(status).toBe(200);
    expect(JSON.stringify(body)).toBe(
      JSON.stringify({
        user: {
          id: user.id,
          slug: "ada-whole",
          username: "Ada Whole",
          profile_image: `${imageBaseUrl}/users/ada.webp`,
        },
        permissions: ["view-roles", "add-roles"],
        expires: "2096-11-20T10:15:00.500Z",
      }),
    );
  });

  it("returns 200 with all fifteen in the contract's order to an administrator, and with none to a plain user", async () => {
    const administrator = await session((await anAdministrator(stack.sql)).token);
    const plain = await session((await aUser(stack.sql)).token);

    expect(administrator.body.permissions).toEqual(Object.keys(permissions));
    expect(plain.body).toMatchObject({ user: { profile_image: null }, permissions: [] });
  });

  it("returns 200 without permissions of other services, and with a renamed one by its key", async () => {
    const foreign = await aPermission(stack.sql);
    const user = await holderOf(stack.sql, "view-roles");
    await stack.sql`
      insert into role_permissions (role_id, permission_id)
      select role_id, ${foreign.id} from user_roles where user_id = ${user.id}
    `;
    await stack.sql`update permissions set name = 'Look at roles' where key = 'view-roles'`;

    expect((await session(user.token)).body.permissions).toEqual(["view-roles"]);
  });

  it("returns 200 to a page of the panel, which may read it, by a read that changes nothing", async () => {
    const { status, headers } = await unchanged(stack, () => session(editor.token, { Origin: panelOrigin }));

    expect(status).toBe(200);
    expect(headers.get("access-control-allow-origin")).toBe(panelOrigin);
    expect(headers.get("access-control-allow-credentials")).toBe("true");
    expect(headers.get("cache-control")).toBe("no-store");
  });
});
