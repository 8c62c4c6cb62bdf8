import postgres, { type Fragment, type TransactionSql } from "postgres";

const firstNames = [
  "Ada", "Agnes", "Akira", "Alma", "Amir", "Anton", "Astrid", "Bela", "Bruno", "Carmen", "Chiara", "Clara", "Dario",
  "Edda", "Elif", "Émile", "Eva", "Felix", "Femke", "Greta", "Hana", "Hugo", "Ines", "Ivo", "Jana", "Jonas", "José",
  "Kaito", "Karim", "Lena", "Lior", "Luca", "Maëlle", "Marta", "Mei", "Milan", "Nadia", "Nils", "Noor", "Olga", "Omar",
  "Paula", "Pia", "Quentin", "Rania", "Rosa", "Sami", "Selma", "Søren", "Tamar", "Teo", "Ulla", "Vera", "Viktor",
  "Wanda", "Xenia", "Yara", "Yuki", "Zoë", "Zoran",
]; // biome-ignore format: names in rows
const syllables = [
  "an", "bar", "bel", "ber", "bo", "cal", "car", "da", "del", "den", "dor", "el", "en", "fa", "fel", "gan", "gar", "gor",
  "ha", "hel", "in", "ka", "kel", "kor", "la", "len", "lo", "ma", "mar", "mel", "na", "nor", "or", "pe", "ra", "ri", "ro",
  "sa", "sel", "so", "ta", "tel", "tor", "va", "vel", "wen", "wil", "ya", "za", "zor",
]; // biome-ignore format: syllables in rows

/** Adds so many made-up contributors, half as many series and a hundredth as many publishers. */
export async function scale(databaseUrl: string, contributors: number, report: (line: string) => void): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  try {
    await sql`insert into clients (id, name) values (1, 'First'), (2, 'Second') on conflict do nothing`;
    // One transaction a step: each is whole or absent, also after kill -9.
    const [{ offset = 0 } = {}] = await sql<{ offset: number }[]>`
      select coalesce(max(id), 0)::int as offset from contributors
    `;
    const steps: [string, (step: TransactionSql) => Promise<unknown>][] = [
      [`${contributors} contributors`, (step) => addContributors(step, offset, contributors)],
      [`${Math.ceil(contributors / 2)} series`, (step) => addSeries(step, offset, Math.ceil(contributors / 2))],
      [
        `${Math.ceil(contributors / 100)} publishers`,
        (step) => addPublishers(step, offset, Math.ceil(contributors / 100)),
      ],
      ["who made what", (step) => relate(step, offset)],
    ];
    for (const [what, run] of steps) {
      const start = performance.now();
      await sql.begin(run);
      report(`  added ${what} in ${((performance.now() - start) / 1000).toFixed(1)} s`);
    }
    for (const table of [
      "contributors",
      "series",
      "publishers",
      "series_contributors",
      "series_publishers",
      "volumes",
      "tallies",
    ]) {
      await sql`vacuum analyze ${sql(table)}`;
    }
  } finally {
    await sql.end();
  }
}

/** Words made of syllables, a different one for each number. */
const word = (sql: TransactionSql, number: Fragment) => sql`(
  select initcap(string_agg((${syllables}::text[])[1 + (${number} / (${syllables.length} ^ place)::bigint) % ${syllables.length}], '' order by place))
  from generate_series(0, 3) as place
)`;

async function addContributors(sql: TransactionSql, offset: number, count: number) {
  // Slugs are known to be free, so their trigger and its lock a row are not needed.
  await sql`alter table contributors disable trigger assign_slug`;
  await sql`
    insert into contributors (first_name, last_name, slug, public, client_id, gender)
    select
      (${firstNames}::text[])[1 + n % ${firstNames.length}],
      ${word(sql, sql`n`)},
      'made-up-' || (${offset}::bigint + n),
      true,
      case n % 10 when 0 then 2 when 1 then 2 when 2 then 1 when 3 then 1 when 4 then 1 end,
      case n % 3 when 0 then 'female' when 1 then 'male' end
    from generate_series(1, ${count}::bigint) as n
    on conflict do nothing
  `;
  await sql`alter table contributors enable trigger assign_slug`;
}

async function addSeries(sql: TransactionSql, offset: number, count: number) {
  await sql`alter table series disable trigger assign_slug`;
  await sql`
    with added as (
      insert into series (name, slug, type, origin, client_id)
      select
        'The ' || ${word(sql, sql`(n * 7919)`)} || ' of ' || ${word(sql, sql`(n * 104729)`)},
        'made-up-' || (${offset}::bigint + n),
        (array['novel', 'manga', 'comic'])[1 + n % 3],
        (array['Japan', 'France', 'Germany', 'United Kingdom'])[1 + n % 4],
        case n % 5 when 0 then 1 when 1 then 2 end
      from generate_series(1, ${count}::bigint) as n
      returning id
    )
    insert into volumes (series_id, number) select id, 1 from added
  `;
  await sql`alter table series enable trigger assign_slug`;
}

async function addPublishers(sql: TransactionSql, offset: number, count: number) {
  await sql`alter table publishers disable trigger assign_slug`;
  await sql`
    insert into publishers (name, slug, country, founding_date)
    select
      ${word(sql, sql`(n * 15485863)`)} || ' & ' || ${word(sql, sql`n`)},
      'made-up-' || (${offset}::bigint + n),
      (array['Japan', 'France', 'Germany', 'United Kingdom'])[1 + n % 4],
      date '1900-01-01' + cast(n % 40000 as int)
    from generate_series(1, ${count}::bigint) as n
  `;
  await sql`alter table publishers enable trigger assign_slug`;
}

/** Every contributor gets one or two of the new series, every series one or two publishers. */
async function relate(sql: TransactionSql, offset: number) {
  const [{ works = 0, houses = 0 } = {}] = await sql<{ works: number; houses: number }[]>`
    select
      (select count(*)::int from series where slug like 'made-up-%') as works,
      (select count(*)::int from publishers where slug like 'made-up-%') as houses
  `;
  await sql`
    with
      works as (select id, row_number() over (order by id) - 1 as place from series where slug like 'made-up-%'),
      wanted as (
        select id, (place * (1 + nth * 13) + nth) % ${works}::bigint as place
        from
          (
            select id, row_number() over (order by id) as place
            from contributors
            where slug like 'made-up-%' and id > ${offset}::bigint
          ) as people
          cross join generate_series(0, 1) as nth
        where nth = 0 or place % 2 = 0
      )
    insert into series_contributors (contributor_id, series_id)
    select wanted.id, works.id
    from wanted join works using (place)
    on conflict do nothing
  `;
  await sql`
    with
      houses as (select id, row_number() over (order by id) - 1 as place from publishers where slug like 'made-up-%'),
      works as (
        select id, row_number() over (order by id) % ${houses}::bigint as place from series where slug like 'made-up-%'
      )
    insert into series_publishers (publisher_id, series_id)
    select houses.id, works.id
    from works join houses using (place)
    on conflict do nothing
  `;
}

/** Adds so many users and roles, each user with one to three roles: for measurements. */
export async function scaleUsers(databaseUrl: string, users: number, roles: number): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  try {
    await sql.begin(async (step) => {
      await step`insert into roles (name, description) select 'Team ' || n, 'Made up' from generate_series(1, ${roles}::bigint) as n`;
      await step`alter table users disable trigger assign_slug`;
      await step`
        with
          teams as (select id, row_number() over (order by id) - 1 as place from roles where name like 'Team %'),
          added as (
            insert into users (username, slug, registered)
            select ${word(step, step`n`)} || n, 'made-up-' || n, now() - make_interval(mins => cast(n as int))
            from generate_series(1, ${users}::bigint) as n
            returning id
          )
        insert into user_roles (user_id, role_id)
        select added.id, teams.id
        from added cross join generate_series(0, 2) as nth join teams on teams.place = (added.id * (1 + nth)) % ${roles}
        where nth <= added.id % 3
        on conflict do nothing
      `;
      await step`alter table users enable trigger assign_slug`;
    });
    for (const table of ["users", "user_roles", "roles", "tallies"]) await sql`vacuum analyze ${sql(table)}`;
  } finally {
    await sql.end();
  }
}
