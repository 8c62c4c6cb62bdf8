import { randomBytes } from "node:crypto";
import { databaseError, transactionNotFound } from "./errors.ts";
import type { Limits } from "./limits.ts";
import type { Login, Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";

interface Transaction {
  session: Session;
  busy: boolean;
  timer: NodeJS.Timeout | undefined;
}

export type Transactions = ReturnType<typeof openTransactions>;

/** Transactions, each with a session of its own until it ends or expires. */
export function openTransactions(sessions: Sessions, limits: Limits) {
  const open = new Map<string, Transaction>();

  /** A transaction expires when it was idle for too long: it is rolled back, and its id is not found. */
  const expireLater = (id: string, transaction: Transaction) => {
    const expire = () => {
      open.delete(id);
      void sessions.release(transaction.session);
    };
    transaction.timer = setTimeout(expire, limits.transactionIdleInMilliseconds).unref();
  };

  const claim = (id: string) => {
    const transaction = open.get(id);
    if (!transaction || transaction.session.ended) {
      open.delete(id);
      throw transactionNotFound(id);
    }
    if (transaction.busy || transaction.session.running) throw databaseError("Transaction is still running a query");
    clearTimeout(transaction.timer);
    transaction.busy = true;
    return transaction;
  };

  return {
    async begin(login: Login): Promise<string> {
      const session = await sessions.dedicate(login);
      await session.client.query("begin").catch((error) => {
        void sessions.release(session);
        throw error;
      });
      // As long as the service's ids, which are base64 of about 180 characters.
      const id = randomBytes(138).toString("base64");
      const transaction = { session, busy: false, timer: undefined };
      open.set(id, transaction);
      expireLater(id, transaction);
      return id;
    },

    /** Runs one statement in the transaction; a second one at the same time fails. */
    async within<T>(id: string, work: (session: Session) => Promise<T>): Promise<T> {
      const transaction = claim(id);
      try {
        return await work(transaction.session);
      } finally {
        transaction.busy = false;
        expireLater(id, transaction);
      }
    },

    /** A commit after a failed statement rolls back, and is no error. */
    async end(id: string, command: "commit" | "rollback"): Promise<void> {
      const { session } = claim(id);
      open.delete(id);
      try {
        await session.client.query(command);
      } finally {
        void sessions.release(session);
      }
    },
  };
}
