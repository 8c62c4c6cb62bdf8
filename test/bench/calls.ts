import { fork } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { clientVariables } from "../../infra/aws-local/client-variables.ts";
import { type DataApiOptions, startDataApi } from "../../infra/aws-local/data-api/server.ts";
import { newKey } from "../../infra/aws-local/http/signature.ts";
import { runningPostgres } from "../../infra/aws-local/postgres/cluster.ts";
import { defaultName } from "../../infra/local/database.ts";
import { variablesOf } from "../../infra/local/stage/functions.ts";
import { newSecrets } from "../../infra/local/stage/secrets.ts";
import type { Calls } from "./caller.ts";
import { startService, withServers } from "./compare.ts";
import { type Row, sideBySide } from "./measure.ts";

/** How much of the CPU of one call by an SDK client the whole function may take. */
const ratioMax: Readonly<Record<string, number>> = {
  "contributor/slug": 0.95,
  "contributors/list": 0.95,
  "admin-contributors/edit": 1.25,
};
const rounds = 11;
const callsOfRound = 800;

type Statement = Calls["statement"];

/** A process that calls functions. The Data API runs each statement once, and then repeats the response. */
async function startCaller(databaseUrl: string, checkout: string) {
  const key = newKey();
  const responses = new Map<string | undefined, string>();
  let last: Statement;
  const intercept: DataApiOptions["intercept"] = async ({ input }, run) => {
    last = input as Statement;
    const response = responses.get(input.sql) ?? (await run());
    responses.set(input.sql, response);
    return response;
  };
  const dataApi = await startDataApi({ databaseUrl, secrets: newSecrets(databaseUrl), key, intercept });
  const variables = { ...clientVariables(key, { dataApiUrl: dataApi.url }), ...variablesOf({ database: defaultName }) };
  const child = fork(join(import.meta.dirname, "caller.ts"), [checkout], {
    env: { ...process.env, ...variables },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const end = once(child, "exit").then(() => {
    throw new Error(`The functions of ${checkout} cannot be called`);
  });
  end.catch(() => {});
  /** Returns the microseconds of CPU of a call. */
  const call = async (calls: Calls): Promise<number> => {
    child.send(calls);
    const [microseconds] = await Promise.race([once(child, "message"), end]);
    return microseconds;
  };
  return {
    call,
    /** Returns the statement that a function sends. */
    async record(name: string): Promise<Statement> {
      await call({ name, count: 1 });
      return last;
    },
    async close() {
      child.kill();
      await dataApi.close();
    },
  };
}

/** Compares the CPU of functions with recorded responses, in their process alone, with that of another checkout. */
export const compareCalls = (checkout: string) =>
  withServers(async (directory, keep) => {
    const openCaller = async (name: string, root: string) => {
      const data = join(directory, name);
      await keep(startService(data, root));
      return await keep(startCaller(await runningPostgres(join(data, "postgres")), root));
    };
    const our = await openCaller("ours", join(import.meta.dirname, "../.."));
    const their = await openCaller("theirs", resolve(checkout));
    const rows: Row[] = [];
    for (const [name, bound] of Object.entries(ratioMax)) {
      const statement = await our.record(name);
      const calls = { name, count: callsOfRound };
      const works = [() => our.call(calls), () => their.call(calls), () => our.call({ ...calls, statement })];
      const [ours = 0, theirs = 0, bare = 0] = await sideBySide(works, rounds);
      const times = [ours, theirs, bare].map((time) => time.toFixed(0)).join(", ");
      rows.push(
        {
          what: `${name}, to a call by the SDK (ours, theirs, SDK: ${times} µs)`,
          value: ours / bare,
          unit: "x",
          bound,
        },
        { what: "  to theirs", value: ours / theirs, unit: "x" },
      );
    }
    return rows;
  });
