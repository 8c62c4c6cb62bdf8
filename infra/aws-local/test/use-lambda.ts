import { afterAll, beforeAll, beforeEach, vi } from "vitest";
import { type Lambda, type LambdaOptions, startLambda } from "../lambda/lambda.ts";
import { writeFunctions } from "./functions.ts";

/** Functions for the tests of a file, and Lambdas that run them. Errors that are logged are not printed. */
export function useLambda(sources: Readonly<Record<string, string>>) {
  const built = {} as Awaited<ReturnType<typeof writeFunctions>>;
  const started: Lambda[] = [];
  beforeAll(async () => void Object.assign(built, await writeFunctions(sources)));
  beforeEach(() => {
    built.forget();
    vi.spyOn(console, "error")
      .mockImplementation(() => {})
      .mockClear();
  });
  afterAll(async () => {
    await Promise.all(started.map((lambda) => lambda.close()));
    await built.remove();
  });
  return {
    built,
    async start(options: Partial<LambdaOptions> = {}): Promise<Lambda> {
      const lambda = await startLambda({ outdir: built.outdir, ...options });
      started.push(lambda);
      return lambda;
    },
    /** The errors that the current test has logged. */
    logged: () => vi.mocked(console.error).mock.calls.flat().join(),
  };
}
