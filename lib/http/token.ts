import { hash, randomBytes } from "node:crypto";

const tokenBytes = 32;

/** A refresh token, which cannot be guessed. */
export const newToken = (): string => randomBytes(tokenBytes).toString("base64url");

/** The SHA-256 of a refresh token, hexadecimal: the database stores only this. */
export const digestOf = (token: string): string => hash("sha256", token);
