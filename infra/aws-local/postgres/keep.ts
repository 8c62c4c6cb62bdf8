import { type Postgres, type PostgresOptions, startPostgres } from "./server.ts";

const minute = 60_000;
const exitsMax = 3;

/**
 * Starts PostgreSQL, and starts it again on the same port when it has ended unexpectedly.
 * @param onExit gets the reason when PostgreSQL has ended too often, or does not start again
 */
export async function keepPostgres(
  options: PostgresOptions,
  report: (line: string) => void,
  onExit: (why: string) => void,
): Promise<Pick<Postgres, "url" | "stop">> {
  let server = await startPostgres(options);
  let isStopping = false;
  let restarting = Promise.resolve();
  const { url } = server;
  const port = Number(new URL(url).port);
  const exits: number[] = [];

  const watch = () => {
    void server.ended.then((reason) => {
      if (!isStopping) restarting = restart(reason);
    });
  };

  const restart = async (reason: string) => {
    const now = performance.now();
    if (exits.push(now) > exitsMax && now - (exits.shift() ?? 0) < minute)
      return onExit(`PostgreSQL has ended (${reason}), and more than ${exitsMax} times within a minute`);
    report(`PostgreSQL has ended (${reason}) and is started again`);
    try {
      server = await startPostgres({ ...options, port });
      report("PostgreSQL is up again");
      watch();
    } catch (error) {
      onExit(`PostgreSQL has ended (${reason}) and does not start: ${error instanceof Error ? error.message : error}`);
    }
  };

  watch();
  return {
    url,
    async stop() {
      isStopping = true;
      await restarting;
      await server.stop();
    },
  };
}
