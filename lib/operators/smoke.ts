import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/mini";
import { answerSchema } from "../contract/answer-schema.ts";
import { type Declaration, stem } from "../contract/declare.ts";
import { endpoints } from "../contract/endpoints.ts";
import { messageOf } from "../http/errors.ts";

/** A GET that a smoke test sends. */
export interface Question {
  /** `contributor/slug` */
  readonly endpoint: string;
  /** Path and query: `/contributor/slug/naoki-urasawa`. */
  readonly target: string;
}

export interface Finding extends Question {
  /** Undefined where there was no answer. */
  readonly status: number | undefined;
  /** What would have been right. */
  readonly expected: readonly number[];
  readonly milliseconds: number;
  /** What is wrong with the answer; undefined where nothing is. */
  readonly flaw: string | undefined;
}

/**
 * Asks a running API, one question after the other, and holds the answers against their declarations.
 * @param url of the API, with a slash at its end or without
 * @param token of a session that may see everything; without one the administration has to refuse
 */
export async function smoke(url: string, questions: readonly Question[], token?: string): Promise<Finding[]> {
  const base = url.replace(/\/$/, "");
  const findings: Finding[] = [];
  for (const question of questions) findings.push(await ask(base, question, token));
  return findings;
}

async function ask(url: string, question: Question, token: string | undefined): Promise<Finding> {
  const declaration = endpoints.find((each) => stem(each) === question.endpoint);
  if (declaration?.method !== "GET") throw new TypeError(`There is no GET ${question.endpoint}`);
  const cookie = declaration.permission && token !== undefined ? { Cookie: `refreshToken=${token}` } : undefined;
  const expected = expectedOf(declaration, cookie !== undefined);
  const { status, text, milliseconds } = await get(url + question.target, { Accept: "application/json", ...cookie });
  const flaw =
    status === undefined
      ? text
      : expected.includes(status)
        ? flawOf(declaration, status, text)
        : `${status} ${text.slice(0, shownMax)}`;
  return { ...question, status, expected, milliseconds, flaw };
}

/** What is asked for by a name may not be there on this stage. */
function expectedOf({ permission, errors }: Declaration, hasToken: boolean): readonly number[] {
  if (permission && !hasToken) return [401];
  return 404 in errors ? [200, 404] : [200];
}

const shownMax = 200;

function flawOf(declaration: Declaration, status: number, text: string): string | undefined {
  const schema =
    status === 200
      ? answerSchema(declaration)
      : z.strictObject({ data: z.literal(messageOf(declaration, status)), code: z.literal(status) });
  try {
    const [issue] = z.safeParse(schema, JSON.parse(text)).error?.issues ?? [];
    return issue && `not as declared: ${issue.path.join(".")} ${issue.message}`;
  } catch {
    return `no JSON: ${text.slice(0, shownMax)}`;
  }
}

interface Answer {
  readonly status: number | undefined;
  /** The body, or why there is no answer. */
  readonly text: string;
  readonly milliseconds: number;
}

/** API Gateway waits for 29 s. */
const attemptInMilliseconds = 35_000;
/** A database that was paused takes some 15 s to wake, up to a minute when it was paused for long. */
const patienceInMilliseconds = 60_000;

/** Comes again where it is told to, as long as a database may take to wake. Goes nowhere else with the token. */
async function get(url: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
  const deadline = Date.now() + patienceInMilliseconds;
  for (;;) {
    const started = performance.now();
    const since = () => Math.round(performance.now() - started);
    try {
      const signal = AbortSignal.timeout(attemptInMilliseconds);
      const response = await fetch(url, { headers, redirect: "manual", signal });
      const text = await response.text();
      const pause = 1_000 * Number(response.headers.get("Retry-After"));
      const comesAgain = response.status === 503 && pause > 0 && Date.now() + pause < deadline;
      if (!comesAgain) return { status: response.status, text, milliseconds: since() };
      await sleep(pause);
    } catch (error) {
      return { status: undefined, text: `no answer: ${reasonOf(error)}`, milliseconds: since() };
    }
  }
}

/** Of a request that failed, `fetch` tells only in the cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}
