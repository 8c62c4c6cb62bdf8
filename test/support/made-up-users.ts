import sql from "sql-template-tag";
import { withConnection } from "../../infra/aws-local/postgres/connection.ts";

/** The role of the users whose names come last. */
export const lateRole = "Late names";

/**
 * Adds users and roles. Each user has one to three roles, and users whose names come last in the alphabet have `lateRole`
 * as well.
 */
export const addUsers = (databaseUrl: string, users: number, roles: number): Promise<void> =>
  withConnection(databaseUrl, async (connection) => {
    const query = async (statement: ReturnType<typeof sql>) => (await connection.query(statement)).rows;
    await query(sql`set colophon.recording = off`);
    await query(sql`insert into roles (name, description) values (${lateRole}, 'Made up')`);
    const teams = await query(sql`
      insert into roles (name, description)
      select 'Team ' || n, 'Made up' from generate_series(1, ${roles}::bigint) as n
      returning id
    `);
    // The digits of a number's hash are letters here, so names are spread over the alphabet.
    await query(sql`
      insert into users (username, slug, registered)
      select
        translate(md5(n::text), '0123456789', 'ghijkvwxyz') || n,
        'made-up-' || n,
        now() - make_interval(mins => n)
      from generate_series(1, ${users}::int) as n
    `);
    await query(sql`
      insert into user_roles (user_id, role_id)
      select users.id, (${teams.map(({ id }) => id)}::bigint[])[1 + (users.id + nth) % ${roles}]
      from users cross join generate_series(0, 2) as nth
      where slug like 'made-up-%' and nth <= users.id % 3
      union all
      select users.id, roles.id
      from users cross join roles
      where slug like 'made-up-%' and username_key >= 'z' and roles.name = ${lateRole}
    `);
    await query(sql`vacuum analyze users, user_roles, roles, counters`);
  });
