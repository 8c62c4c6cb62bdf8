import type { ChildProcess } from "node:child_process";

/** The one message a child process sends; a child that ends without it has failed. */
export function messageOf<Message>(child: ChildProcess): Promise<Message> {
  return new Promise((resolve, reject) => {
    child.once("message", (message) => resolve(message as Message));
    child.once("exit", (code) => reject(new Error(`The measuring process ended with ${code}`)));
  });
}
