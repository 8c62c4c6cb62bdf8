import { expect } from "vitest";
import * as z from "zod/mini";
import * as answers from "../../lib/contract/answers.ts";
import { type Declaration, stem } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { commonErrors, invalidParameter } from "../../lib/contract/errors.ts";

/** The declaration of an endpoint by its stem: `admin-roles/edit`. */
export function declarationOf(name: string): Declaration {
  const declaration = endpoints.find((each) => stem(each) === name);
  if (!declaration) throw new Error(`There is no endpoint ${name}`);
  return declaration;
}

/** What a 200 of this endpoint must look like, to the field. */
export function answerSchema({ answers: given }: Declaration): z.ZodMiniType {
  if ("message" in given) return z.strictObject({ data: z.literal(given.message), code: z.literal(200) });
  if ("record" in given) return answers[given.record];
  const items = z.array(answers[given.list]);
  if (!given.field) return items;
  const count = z.int().check(z.nonnegative());
  return z.strictObject({
    [given.field]: items,
    max: count,
    from: count,
    to: count,
    ...(given.count ? { count } : {}),
  });
}

/** Fails unless an answer is one that the declaration allows. */
export function expectDeclared(declaration: Declaration, status: number, body: unknown): void {
  if (status === 200) {
    expect(
      z.safeParse(answerSchema(declaration), body).error?.issues,
      JSON.stringify(body).slice(0, 2000),
    ).toBeUndefined();
    return;
  }
  expect(z.safeParse(answers.Envelope, body).success, JSON.stringify(body)).toBe(true);
  expect(errorsOf(declaration), JSON.stringify(body)).toContainEqual(body);
}

/** Every error envelope an endpoint may answer. */
export function errorsOf(declaration: Declaration): readonly { data: string; code: number }[] {
  const guardErrors = declaration.permission ? [401, 403] : [];
  const messages: Readonly<Record<number, string>> = { ...commonErrors, ...declaration.errors };
  const parameters = [declaration.parameters, declaration.query, declaration.body].flatMap((shape) =>
    Object.keys(shape ?? {}),
  );
  return [
    ...[400, 500, ...guardErrors, ...Object.keys(declaration.errors).map(Number)].map((code) => ({
      code,
      data: messages[code] ?? "",
    })),
    { code: 503, data: commonErrors[503] },
    ...parameters.map((name) => ({ code: 400, data: invalidParameter(name) })),
  ];
}
