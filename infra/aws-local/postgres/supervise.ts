import { type Postgres, type PostgresOptions, startPostgres } from "./server.ts";

const minute = 60_000;
const endsMax = 3;

/**
 * Starts PostgreSQL, and starts it again on the same port when it has ended unexpectedly.
 * @param onExit gets the reason when PostgreSQL has ended too often, or does not start again
 */
export async function supervisePostgres(
  options: PostgresOptions,
  report: (line: string) => void,
  onExit: (why: string) => void,
): Promise<Pick<Postgres, "url" | "stop">> {
  let server = await startPostgres({ ...options, report });
  let isStopping = false;
  let restarting = Promise.resolve();
  const { url } = server;
  const port = Number(new URL(url).port);
  const ends: number[] = [];

  const watch = () => {
    void server.ended.then(() => {
      if (!isStopping) restarting = restart();
    });
  };

  const restart = async () => {
    const now = performance.now();
    if (ends.push(now) > endsMax && now - (ends.shift() ?? 0) < minute)
      return onExit(`PostgreSQL has ended more than ${endsMax} times within a minute`);
    report("PostgreSQL has ended and is started again");
    try {
      server = await startPostgres({ ...options, port });
      report("PostgreSQL is up again");
      watch();
    } catch (error) {
      onExit(error instanceof Error ? error.message : String(error));
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
