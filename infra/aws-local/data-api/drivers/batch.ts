import { inTime } from "../deadline.ts";
import type { Service } from "../operations.ts";
import { bind } from "../parameters.ts";
import { run } from "../query.ts";
import type { Request } from "../requests.ts";
import type { Session } from "../session.ts";

/** BatchExecuteStatement: the same statement once for each set of parameters, all of them or none. */
export async function batchExecuteStatement(service: Service, request: Request): Promise<string> {
  const { sessions, transactions, limits } = service;
  const statements = (request.parameterSets ?? [[]]).map((set) => bind(request.sql ?? "", set));
  const runAll = async (session: Session) => {
    for (const statement of statements) await inTime(service, session, request, run(session.client, statement, limits));
  };
  if (request.transactionId !== undefined) await transactions.within(request.transactionId, runAll);
  else {
    const session = await sessions.acquire(service.loginOf(request));
    try {
      await atomically(session, runAll);
    } finally {
      void sessions.release(session);
    }
  }
  return JSON.stringify({ updateResults: statements.map(() => ({ generatedFields: [] })) });
}

async function atomically(session: Session, work: (session: Session) => Promise<void>): Promise<void> {
  await session.client.query("begin");
  try {
    await work(session);
    await session.client.query("commit");
  } catch (error) {
    await session.client.query("rollback");
    throw error;
  }
}
