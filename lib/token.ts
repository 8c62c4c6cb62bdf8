import { createHash } from "node:crypto";

/** What the database keeps of a refresh token: its SHA-256, hexadecimal. */
export const digestOf = (token: string): string => createHash("sha256").update(token).digest("hex");
