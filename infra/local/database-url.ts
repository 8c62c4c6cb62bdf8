import { UsageError } from "../command/command.ts";

const variable = "COLOPHON_DATABASE_URL";

/**
 * The database that a command is to use: the one in its flag, or else in the environment. Undefined is the embedded one.
 * The variable is removed, so that functions and child processes do not get the password.
 * @throws {UsageError} also for a flag with a password: all users of this machine see the flags of its processes
 */
export function databaseUrlFrom(flag: string | undefined): string | undefined {
  const url = flag ?? (process.env[variable] || undefined);
  delete process.env[variable];
  if (url === undefined) return undefined;
  const { protocol, password } = URL.parse(url) ?? {};
  if (protocol !== "postgres:" && protocol !== "postgresql:") {
    const source = flag === undefined ? variable : "--database";
    throw new UsageError(`${source} takes a URL like postgres://user@host/name`);
  }
  if (flag === undefined || !password) return url;
  throw new UsageError(`--database takes no password, which others would see: give the URL in ${variable}`);
}
