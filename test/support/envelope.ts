import { forbiddenByRule } from "../../lib/contract/errors.ts";

/** The body of an error or of a mutation's response. */
export const envelope = (code: number, data: string) => ({ data, code });

export const missingParameters = envelope(400, "Required parameters missing");
export const invalidParameter = (name: string) => envelope(400, `Invalid parameter: ${name}`);
export const unauthorized = envelope(401, "Unauthorized");
export const forbidden = envelope(403, "Forbidden");
export const forbiddenBy = (rule: keyof typeof forbiddenByRule) => envelope(403, forbiddenByRule[rule]);
