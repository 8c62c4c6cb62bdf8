import { hash } from "node:crypto";

/** What the database keeps of a refresh token: its SHA-256, hexadecimal. */
export const digestOf = (token: string): string => hash("sha256", token);
