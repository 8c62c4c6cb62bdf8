import { type Postgres, type PostgresOptions, startPostgres } from "./server.ts";

const minute = 60_000;
const deathsMax = 3;

/**
 * Starts PostgreSQL, and again whenever it ends without having been told to: on the same port, so that nobody else has
 * to know.
 * @param died hears why when it ended too often
 */
export async function keepPostgres(
  options: PostgresOptions,
  report: (line: string) => void,
  died: (why: string) => void,
): Promise<Pick<Postgres, "url" | "stop">> {
  let server = await startPostgres(options);
  let isStopping = false;
  let restarting = Promise.resolve();
  const { url } = server;
  const port = Number(new URL(url).port);
  const deaths: number[] = [];

  const watch = () => {
    void server.ended.then((how) => {
      if (!isStopping) restarting = restart(how);
    });
  };

  const restart = async (how: string) => {
    const now = performance.now();
    if (deaths.push(now) > deathsMax && now - (deaths.shift() ?? 0) < minute)
      return died(`PostgreSQL has ended (${how}), and more than ${deathsMax} times within a minute`);
    report(`PostgreSQL has ended (${how}) and is started again`);
    try {
      server = await startPostgres({ ...options, port });
      report("PostgreSQL is up again");
      watch();
    } catch (error) {
      died(`PostgreSQL has ended (${how}) and does not start: ${error instanceof Error ? error.message : error}`);
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
