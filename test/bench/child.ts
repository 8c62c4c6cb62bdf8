import type { ChildProcess } from "node:child_process";

/** The only message that a child process sends. A child that ends without sending it has failed. */
export function messageOf<Message>(child: ChildProcess): Promise<Message> {
  return new Promise((resolve, reject) => {
    child.once("message", (message) => resolve(message as Message));
    child.once("exit", (code) => reject(new Error(`The measuring process ended with ${code}`)));
  });
}
