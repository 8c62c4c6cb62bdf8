import { hash } from "node:crypto";

/** The SHA-256 of a refresh token, hexadecimal: the database stores only this. */
export const digestOf = (token: string): string => hash("sha256", token);
