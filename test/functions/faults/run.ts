import { PutObjectCommand, paginateListObjectsV2, S3Client } from "@aws-sdk/client-s3";
import { imageBucket } from "../../../infra/local/functions.ts";
import { endpointAt } from "../../../lib/contract/endpoints.ts";
import type { Sql } from "../../support/database.ts";
import { key } from "../../support/environment.ts";
import { anAdministrator } from "../../support/people.ts";
import { dataUrl, plain } from "../../support/pictures.ts";
import { type Kind, kinds, type Request, type Scene } from "./plan.ts";
import { type FaultyProxy, startFaultyProxy } from "./proxy.ts";

/** A running service with uploads. Only its `ops-migrate` has been called, so the other functions are not loaded. */
export interface Service {
  readonly url: string;
  readonly sql: Sql;
  readonly dataApi: { readonly url: string };
  readonly s3: { readonly url: string };
}

export interface Options {
  readonly requests: number;
  readonly seed: number;
}

/** The outcomes of the requests; all numbers except the first three should be 0. */
export interface Counts {
  readonly answers: Readonly<Record<number, number>>;
  readonly calls: number;
  readonly faults: number;
  /** Writes that were answered 200, but not done. */
  readonly lost: number;
  readonly doubled: number;
  readonly half: number;
  /** Answers 4xx. All requests are valid, so only a write that runs again can be refused. */
  readonly refused: number;
  /** Answers 5xx except 503. */
  readonly failed: number;
  /** Answers 503 without `Retry-After`, or before functions should stop retrying. */
  readonly early: number;
  /** Missing objects of images that records refer to. */
  readonly dangling: number;
  /** Objects that no record refers to, and that are not listed for removal. */
  readonly orphaned: number;
  /** For wrong requests: the endpoint, the status, and how often each part of the write was done. */
  readonly examples: readonly string[];
}

const rate = 0.3;
const connections = 16;
const examplesMax = 20;
/** Functions retry for 24 s, public reads for 6.5; the last pause between two attempts may end this earlier. */
const retryTimeMinOf = (name: string): number => (name.startsWith("admin-") ? 22_000 : 4_500);

/** Sends half of the requests one after the other, then the other half over several connections. */
export async function runFaults(service: Service, { requests, seed }: Options): Promise<Counts> {
  const { sql } = service;
  const random = seeded(seed);
  const proxies = await startProxies(service, random);
  const scene = await setTheScene(sql);
  const plan = await makePlan(sql, requests, random);
  await storeOldImages(service, scene);
  await watch(sql);
  const { token } = await anAdministrator(sql);
  const run = (task: Task) => send(service.url, token, task, scene);

  const half = plan.length / 2;
  const replies: Reply[] = [];
  for (const task of plan.slice(0, half)) replies.push(await run(task));
  const rest = plan.slice(half);
  const connection = async () => {
    for (let task = rest.pop(); task; task = rest.pop()) replies.push(await run(task));
  };
  await Promise.all(Array.from({ length: connections }, connection));

  await Promise.all(proxies.map((proxy) => proxy.close()));
  return { ...(await evaluate(service, replies)), ...sum(proxies) };
}

async function startProxies({ dataApi, s3 }: Service, random: () => number): Promise<FaultyProxy[]> {
  const json = (type: string) => ({ "Content-Type": "application/json", "x-amzn-ErrorType": type });
  const xml = (code: string) => `<?xml version="1.0"?><Error><Code>${code}</Code><Message>Later</Message></Error>`;
  const type = { "Content-Type": "application/xml" };
  const proxies = await Promise.all([
    startFaultyProxy({
      target: dataApi.url,
      unavailable: { status: 503, headers: json("ServiceUnavailableError"), body: "{}" },
      throttled: { status: 400, headers: json("ThrottlingException"), body: '{"message":"Rate exceeded"}' },
      random,
      rate,
    }),
    startFaultyProxy({
      target: s3.url,
      unavailable: { status: 503, headers: type, body: xml("ServiceUnavailable") },
      throttled: { status: 503, headers: type, body: xml("SlowDown") },
      random,
      rate,
    }),
  ]);
  const [database, files] = proxies;
  Object.assign(process.env, { AWS_ENDPOINT_URL_RDS_DATA: database.url, AWS_ENDPOINT_URL_S3: files.url });
  return proxies;
}

const sum = (proxies: readonly FaultyProxy[]) => ({
  calls: proxies.reduce((total, { counts }) => total + counts.requests, 0),
  faults: proxies.reduce((total, { counts }) => total + counts.faults, 0),
});

/** Numbers from 0 to 1, the same ones for the same seed (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

async function setTheScene(sql: Sql): Promise<Scene> {
  await sql`insert into clients (id, name) values (1, 'First') on conflict do nothing`;
  await sql`
    insert into contributors (first_name, slug, public)
    select 'Reader''s ' || number, 'readers-' || number, true from generate_series(1, 50) as number
  `;
  const [first, second] = await sql<{ id: number }[]>`
    insert into roles (name) values ('Swap 0'), ('Swap 1') returning id
  `;
  const [permission] = await sql<{ id: number }[]>`insert into permissions (name) values ('Bench') returning id`;
  if (!first || !second || !permission) throw new Error("The scene is not set");
  const image = dataUrl(await plain().png().toBuffer());
  return { roles: [Number(first.id), Number(second.id)], permission: Number(permission.id), image };
}

interface Task {
  readonly kind: Kind;
  readonly number: number;
  readonly mark: string;
  readonly target: number;
}

/** Each write has its own mark and its own record, so no other write can change what is found for it. */
async function makePlan(sql: Sql, requests: number, random: () => number): Promise<Task[]> {
  await sql.query(`
    create schema bench;
    create table bench.plan (number int primary key, endpointPath text, target bigint, mark text);
    create table bench.objects (key text primary key);
  `);
  const shares = kinds.reduce((total, { share }) => total + share, 0);
  const plan: Task[] = [];
  for (const kind of kinds) {
    const length = Math.round((requests * kind.share) / shares);
    const targets = (await kind.prepare?.(sql, length)) ?? [];
    for (let place = 0; place < length; place++) {
      const number = plan.length;
      plan.push({ kind, number, mark: `Mark ${number}`, target: Number(targets[place]?.id ?? 0) });
    }
  }
  const rows = plan.map(({ kind, number, mark, target }) => ({
    number,
    endpointPath: kind.endpointPath,
    target,
    mark,
  }));
  await sql`
    insert into bench.plan (number, endpointPath, target, mark)
    select number, endpointPath, target, mark
    from jsonb_to_recordset(${JSON.stringify(rows)}) as plan (number int, endpointPath text, target bigint, mark text)
  `;
  return plan
    .map((task) => ({ task, place: random() }))
    .sort((one, other) => one.place - other.place)
    .map(({ task }) => task);
}

const pairOf = (key: string) => [key, key.replace(".webp", "-256.webp")];

async function storeOldImages({ sql, s3 }: Service, { image }: Scene): Promise<void> {
  const client = new S3Client({ endpoint: s3.url, credentials: key, forcePathStyle: true });
  const Body = Buffer.from(image.slice(image.indexOf(",") + 1), "base64");
  for (const keys of chunks(await referredKeys(sql), connections))
    await Promise.all(
      keys.flatMap(pairOf).map((Key) => client.send(new PutObjectCommand({ Bucket: imageBucket, Key, Body }))),
    );
  client.destroy();
}

const chunks = <Item>(items: readonly Item[], size: number): Item[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, place) => items.slice(place * size, (place + 1) * size));

const referredKeys = async (sql: Sql): Promise<string[]> =>
  (
    await sql<{ image: string }[]>`
      select image from users where image is not null union all select image from contributors where image is not null
    `
  ).map(({ image }) => image);

/**
 * Adds triggers that record the transaction of every mark, deletion and new image. A write that runs twice has two
 * transactions, even if the second one changes nothing.
 */
async function watch(sql: Sql): Promise<void> {
  await sql.query(`
    create table bench.runs (sign text, transaction xid8 default pg_current_xact_id());
    create function bench.note() returns trigger language plpgsql security definer as $$
      begin
        if tg_op = 'DELETE' then
          insert into bench.runs values (tg_table_name || ' gone ' || old.id);
        elsif tg_argv[0] <> 'image' then
          insert into bench.runs values (to_jsonb(new) ->> tg_argv[0]);
        elsif new.image is distinct from old.image then
          insert into bench.runs
          values (tg_table_name || case when new.image is null then ' no' else '' end || ' image ' || new.id);
        end if;
        return null;
      end
    $$;
  `);
  const marks = { contributors: "first_name", users: "username", roles: "name", permissions: "name" };
  for (const [table, mark] of Object.entries(marks)) {
    await sql.query(`
      create trigger bench_mark after insert or update of ${mark} on ${table}
        for each row execute function bench.note('${mark}');
      create trigger bench_gone after delete on ${table} for each row execute function bench.note();
    `);
  }
  for (const table of ["contributors", "users"]) {
    await sql.query(`
      create trigger bench_image after update of image on ${table} for each row execute function bench.note('image')
    `);
  }
}

interface Reply {
  readonly task: Task;
  readonly status: number;
  readonly isEarly: boolean;
}

async function send(base: string, token: string, task: Task, scene: Scene): Promise<Reply> {
  const { kind, target, mark } = task;
  const start = performance.now();
  const response = await fetch(...requestOf(base, token, kind.endpointPath, kind.request(target, mark, scene)));
  await response.json();
  const { status, headers } = response;
  const milliseconds = performance.now() - start;
  const isEarly = status === 503 && (!headers.has("retry-after") || milliseconds < retryTimeMinOf(kind.endpointPath));
  return { task, status, isEarly };
}

function requestOf(base: string, token: string, name: string, { path = {}, query = {}, body }: Request) {
  const declaration = endpointAt(name);
  if (!declaration) throw new Error(`There is no endpoint ${name}`);
  const place = declaration.path.replace(/\{(\w+)\}/g, (_, key) => encodeURIComponent(path[key] ?? ""));
  return [
    `${base}${place}?${new URLSearchParams(query)}`,
    {
      method: declaration.method,
      headers: { Cookie: `refreshToken=${token}`, "Content-Type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
    },
  ] as const;
}

/** Compares the answers with the contents of database and bucket. */
async function evaluate({ sql, s3 }: Service, replies: readonly Reply[]): Promise<Omit<Counts, "calls" | "faults">> {
  const objects = await listObjects(s3.url);
  await sql`insert into bench.objects select unnest(${objects}::text[])`;
  const found = new Map<number, readonly number[]>();
  for (const { endpointPath: name, parts } of kinds) {
    if (!parts) continue;
    const rows = await sql.query<{ number: number; parts: number[] }[]>(
      `select number, array[${parts.join()}]::int[] as parts from bench.plan where endpointPath = '${name}'`,
    );
    for (const row of rows) found.set(row.number, row.parts);
  }
  const examples: string[] = [];
  const count = (isWrong: (reply: Reply, parts: readonly number[]) => boolean) => {
    const wrong = replies
      .map((reply) => ({ reply, parts: found.get(reply.task.number) ?? [] }))
      .filter(({ reply, parts }) => isWrong(reply, parts));
    for (const { reply, parts } of wrong)
      examples.push(`${reply.task.kind.endpointPath}: ${reply.status}, ${parts.join(" ")}`);
    return wrong.length;
  };
  const answers: Record<number, number> = {};
  for (const { status } of replies) answers[status] = (answers[status] ?? 0) + 1;
  const referred = (await referredKeys(sql)).flatMap(pairOf);
  const noted = (await sql<{ key: string }[]>`select key from images_to_remove`).flatMap(({ key }) => pairOf(key));
  const known = new Set([...referred, ...noted]);
  const stored = new Set(objects);
  return {
    answers,
    lost: count(({ status }, parts) => status === 200 && parts.length > 0 && parts.every((each) => each === 0)),
    doubled: count((_, parts) => parts.some((each) => each > 1)),
    half: count((_, parts) => parts.includes(0) && parts.some((each) => each > 0)),
    refused: count(({ status }) => status >= 400 && status < 500),
    failed: count(({ status }) => status >= 500 && status !== 503),
    early: count(({ isEarly }) => isEarly),
    dangling: referred.filter((key) => !stored.has(key)).length,
    orphaned: objects.filter((key) => !known.has(key)).length,
    examples: [...new Set(examples)].sort().slice(0, examplesMax),
  };
}

async function listObjects(endpoint: string): Promise<string[]> {
  const client = new S3Client({ endpoint, credentials: key, forcePathStyle: true });
  const keys: string[] = [];
  for await (const { Contents = [] } of paginateListObjectsV2({ client }, { Bucket: imageBucket }))
    keys.push(...Contents.map(({ Key = "" }) => Key));
  client.destroy();
  return keys;
}
