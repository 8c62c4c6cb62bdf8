import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { S3Client } from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import type { Lambda } from "../../infra/aws-local/lambda/lambda.ts";
import { startS3 } from "../../infra/aws-local/s3/server.ts";
import { transferBucket } from "../../infra/local/functions.ts";
import { key, useBucket } from "../support/environment.ts";
import { type Row, timed } from "./measure.ts";
import { call } from "./requests.ts";
import type { Stage } from "./stage.ts";

const lines = 200_000;
const parts = { publishers: lines / 100, contributors: lines / 2, relations: lines / 10, series: (lines * 39) / 100 };

/** A catalogue of made-up records, as an export would write it. */
function* catalogue(): Generator<string> {
  const { publishers, contributors, relations, series } = parts;
  const descriptions = [{ language: "English", description: "Made up for a measurement. ".repeat(8) }];
  const people = (number: number) => `c${number % contributors}`;
  for (let number = 0; number < publishers; number++)
    yield line({
      kind: "publisher",
      externalId: `p${number}`,
      name: `House ${number}`,
      country: "Japan",
      descriptions,
    });
  for (let number = 0; number < contributors; number++)
    yield line({
      kind: "contributor",
      externalId: `c${number}`,
      public: number % 10 > 0,
      first_name: `Person ${number}`,
      last_name: `of ${number % 977}`,
      links: [`https://example.com/${number}`],
      aliases: number % 5 === 0 ? [`Pen name ${number}`] : [],
      descriptions,
    });
  for (let number = 0; number < relations; number++)
    yield line({
      kind: "contributor-relation",
      from: people(number * 3),
      to: people(number * 7 + 1),
      relation_type: "friend",
    });
  for (let number = 0; number < series; number++)
    yield line({
      kind: "series",
      externalId: `s${number}`,
      name: `The ${number % 89} tales of ${number}`,
      tags: [`tag ${number % 40}`, `tag ${40 + (number % 60)}`],
      aliases: [{ name: `Alias ${number}`, language: "Japanese" }],
      descriptions,
      volumes: [1, 2].map((volume) => ({ number: volume, cover: `covers/${number}-${volume}.webp` })),
      contributors: [{ contributor: people(number), role: "author" }, { contributor: people(number * 3 + 1) }],
      publishers: [`p${number % publishers}`],
    });
}

const line = (content: object) => `${JSON.stringify(content)}\n`;

/** Imports a file into a catalogue while somebody edits it, and imports it once more. */
export async function imports(stage: Stage): Promise<Row[]> {
  const directory = await mkdtemp(join(tmpdir(), "colophon-imports-"));
  const s3 = await startS3({ directory, buckets: [{ name: transferBucket }], key });
  try {
    useBucket(s3.url);
    const lambda = await stage.over(20_000);
    const object = { Bucket: transferBucket, Key: "imports/catalogue.jsonl" };
    await new Upload({ client: new S3Client({}), params: { ...object, Body: Readable.from(catalogue()) } }).done();
    const source = `s3://${object.Bucket}/${object.Key}`;
    const editing = startEditing(lambda);
    const memory = startWatchingMemory();
    const first = await timed(() => importAll(lambda, source));
    const grownMegabytes = memory();
    const edits = await editing();
    const second = await timed(() => importAll(lambda, source));
    return [
      {
        what: `lines a second of ${lines}, into 25,000 contributors`,
        value: (1000 * lines) / first,
        unit: "/s",
        least: 1_000,
      },
      { what: "lines a second when nothing changes", value: (1000 * lines) / second, unit: "/s", least: 1_000 },
      { what: `edits meanwhile (${edits.length}), p99`, value: quantile(edits, 0.99), unit: "ms", bound: 500 },
      { what: "memory grows meanwhile by, services included", value: grownMegabytes, unit: "MB", bound: 512 },
    ];
  } finally {
    await s3.close();
    await rm(directory, { recursive: true });
  }
}

/** Invokes the function until the file is done. */
async function importAll(lambda: Lambda, source: string): Promise<void> {
  for (;;) {
    const invocation = await lambda.invoke("ops-import", { source });
    const report = JSON.stringify(invocation);
    if (!report.includes('"refusedCount":0')) throw new Error(report);
    if (report.includes('"isDone":true')) return;
  }
}

/** Edits one contributor after the other, and adds some. The function that it returns ends that, and tells how long each took. */
function startEditing(lambda: Lambda): () => Promise<number[]> {
  const times: number[] = [];
  let isOver = false;
  const edit = async () => {
    for (let round = 0; !isOver; round++) {
      const body = { first_name: `Edited ${round}`, public: round % 2 === 0 };
      const path = { id: `${1 + (round % 60)}` };
      times.push(await timed(() => call(lambda, { name: "admin-contributors/edit", method: "POST", path, body })));
      const added = { name: "admin-contributors/add", method: "POST", body: { first_name: `Added ${round}` } };
      times.push(await timed(() => call(lambda, added)));
    }
  };
  const edits = edit();
  return async () => {
    isOver = true;
    await edits;
    return times;
  };
}

function startWatchingMemory(): () => number {
  const begin = process.memoryUsage.rss();
  let peak = begin;
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 100);
  return () => {
    clearInterval(timer);
    return (peak - begin) / 1024 ** 2;
  };
}

const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length * share)] ?? Number.NaN;
