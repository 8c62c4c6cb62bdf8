import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { useAdministrator } from "../../support/callers.ts";
import { type Reply, useStack } from "../../support/stack.ts";

const stack = useStack({ ownPostgres: true });
const administrator = useAdministrator(stack);

const read = () => stack.call("contributors/list", { query: { client: 1 } });
let additions = 0;
const write = () => administrator.call("admin-contributors/add", { body: { first_name: `Added ${++additions}` } });
const written = async () => Number((await stack.sql`select count(*) from contributors`)[0]?.count);

/** Visitors who send a request after the response to the one before. */
function traffic(...visits: (() => Promise<Reply>)[]) {
  const statuses: number[] = [];
  let isOver = false;
  const visitor = async (visit: () => Promise<Reply>) => {
    while (!isOver) statuses.push((await visit()).status);
  };
  const done = Promise.all(visits.map(visitor));
  return {
    /** Waits for three more responses a visitor. */
    async goOn() {
      const enough = statuses.length + 3 * visits.length;
      await vi.waitUntil(() => statuses.length >= enough, { timeout: 30_000 });
    },
    /** All statuses that there were. */
    async stop() {
      isOver = true;
      await done;
      return statuses;
    },
  };
}

const downInMilliseconds = 1_000;

async function restart(): Promise<void> {
  await sleep(downInMilliseconds);
  await stack.postgres?.restart();
}

const processId = () => stack.postgres?.processId ?? 0;

describe("Reads and writes", () => {
  it.each([
    { what: "restarts", interrupt: async () => stack.postgres?.stop().then(restart) },
    { what: "crashes", interrupt: () => Promise.resolve(process.kill(processId(), "SIGQUIT")).then(restart) },
    { what: "loses a session, and with it all others", interrupt: killSession },
  ])("wait and succeed while PostgreSQL $what in the middle of them", async ({ interrupt }) => {
    const { goOn, stop } = traffic(read, read, read, write, write, write);
    await goOn();

    await interrupt();
    await goOn();
    const statuses = await stop();

    expect([...new Set(statuses)]).toEqual([200]);
    expect(await written()).toBe(additions);
  });

  it("succeed by a second attempt when the first one gets no response", async () => {
    stack.dataApi.intercept(({ number }) => (number <= 2 ? new Promise(() => {}) : undefined));
    const start = Date.now();

    const replies = await Promise.all([read(), write()]);

    expect(replies.map(({ status }) => status)).toEqual([200, 200]);
    expect(Date.now() - start).toBeLessThan(16_000);
    expect(await written()).toBe(additions);
  });
});

/** PostgreSQL ends all sessions when one is killed, since it may have damaged the memory they share. */
async function killSession(): Promise<void> {
  const [session] = await stack.sql`select pid from pg_stat_activity where application_name = 'data-api' limit 1`;
  process.kill(session?.pid, "SIGKILL");
}
