import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { Option } from "@commander-js/extra-typings";
import * as z from "zod/mini";
import { endpointAt } from "../../lib/contract/endpoints.ts";
import { isOperatorEndpoint } from "../../lib/operators/payloads.ts";
import { lambdaResponse } from "../../lib/operators/release/lambda-response.ts";
import { newCommand, runCommand, UsageError } from "../command/command.ts";
import { confirm } from "../command/confirm.ts";
import { eventOf, functionNameOf, functionPathOf } from "../command/event.ts";
import { print } from "../command/print.ts";
import { tokenFrom } from "../command/token.ts";
import { readCredentials } from "../local/credentials.ts";
import { isOfDatabase } from "../settings/database-functions.ts";
import { settings } from "../settings/settings.ts";
import { aliasName } from "./released-functions.ts";
import { resultInWords } from "./results-in-words.ts";
import { deployedFunction, stageNamed } from "./stage.ts";

/** Options of the commands that call a function, here or on a stage. */
export const stageOption = new Option("--stage <name>", "a deployed stage; default: the service that npm start runs");
export const yesOption = new Option("--yes", "change a protected stage without asking");
export const urlOption = new Option("--url <url>", "where the local service runs; default: http://localhost:3000");
export const dataOption = new Option("--data <directory>", "the directory of its data; default: .local");

export const command = newCommand("npm run invoke")
  .description(
    "Invokes a function, and prints its result. It ends with 1 if the function failed, or if it refused or left " +
      "something of an undo or an import.",
  )
  .argument("<name>", "as admin-roles/list")
  .argument(
    "[payload]",
    "JSON, or a file with it; without it the function's sample is sent. Of an operators' function it is the event, of " +
      "an endpoint path, query, body and as (a token), which replace those of the sample, or an event of API Gateway",
  )
  .addOption(stageOption)
  .addOption(yesOption)
  .option("--token-from <source>", "environment variable, or else file, with the refresh token to send to an endpoint")
  .option("--json", "print results as they are, also those that would be in words")
  .addOption(urlOption)
  .addOption(dataOption);

const { id: account, region } = settings.account;

export interface Invocation {
  readonly name: string;
  readonly payload?: string | undefined;
  /** Default: the local service. */
  readonly stage?: string | undefined;
  readonly yes?: boolean;
  readonly tokenSource?: string | undefined;
  readonly url?: string | undefined;
  readonly data?: string | undefined;
}

/** Invokes a function of the local service, or of a stage, with an event that it accepts. */
export async function invoke({ name, payload, tokenSource, yes, ...where }: Invocation) {
  const path = functionPathOf(name);
  if (tokenSource !== undefined && isOperatorEndpoint(path)) throw new UsageError("--token-from is for endpoints");
  const event = await eventOf(path, payload, tokenSource && (await tokenFrom(tokenSource)));
  const target = await targetOf(path, where);
  if (target.isProtected && changesSomething(path) && !yes) await expectAgreement(target, event);
  return await send(target, path, event).catch((cause) => {
    if (where.stage !== undefined || cause.code !== "ECONNREFUSED") throw cause;
    throw new Error(`Nothing listens on ${where.url ?? localUrl}: is npm start running?`, { cause });
  });
}

/**
 * The result of an operators' function.
 * @throws with the message of an error that it has thrown
 */
export async function resultOf(invocation: Invocation): Promise<unknown> {
  const { result, hasFailed } = await invoke(invocation);
  if (hasFailed) throw functionErrorOf(result);
  return result;
}

/** The error that a function has thrown, of which its log has the stack trace. */
function functionErrorOf(result: unknown): Error {
  const { errorType, errorMessage } = z.parse(failure, result);
  return new Error(/^(Refusal|Error)$/.test(errorType) ? errorMessage : `${errorType}: ${errorMessage}`);
}

const failure = z.object({ errorType: z.string(), errorMessage: z.string() });

const localUrl = "http://localhost:3000";

/**
 * Where a function runs, in the local service or on a stage, its name as Lambda knows it, and whether the operator has to
 * agree before it changes anything.
 */
export async function targetOf(path: string, { stage, url, data }: Omit<Invocation, "name">) {
  // A change must not be made twice.
  const options = { region, maxAttempts: 1 };
  if (stage === undefined) {
    const credentials = await readCredentials(data);
    const client = new LambdaClient({ ...options, endpoint: url ?? localUrl, credentials });
    return { client, name: functionNameOf(path), qualifier: undefined, isProtected: false };
  }
  if (url !== undefined || data !== undefined) throw new UsageError("--url and --data are for the local service");
  const { name, isProtected } = deployedFunction(stageNamed(stage), path);
  return {
    client: new LambdaClient(options),
    // With the account in its name nothing is invoked by credentials of another one.
    name: `${account}:function:${name}`,
    // The version that is released; a database's functions run their newest code.
    qualifier: isOfDatabase(functionNameOf(path)) ? undefined : aliasName,
    isProtected,
  };
}

const readingOperators = new Set(["ops/check-copy", "ops/export", "ops/list-changes", "ops/smoke"]);

function changesSomething(path: string): boolean {
  if (isOperatorEndpoint(path)) return !readingOperators.has(path);
  const declaration = endpointAt(path);
  return declaration?.method !== "GET" || declaration.takesEditLock === true;
}

/** @throws unless the person at the terminal agrees that a protected function is invoked */
export async function expectAgreement({ name }: Pick<Target, "name">, event: unknown): Promise<void> {
  // Headers have the token of a session.
  const question = `${name} is protected. Invoke it with ${JSON.stringify({ ...Object(event), headers: undefined })}?`;
  if (await confirm(question)) return;
  throw new Error(`Nothing was invoked: ${name} changes something, and is protected. Agree by --yes`);
}

/** What the function returns, and whether it has thrown an error. */
type Target = Awaited<ReturnType<typeof targetOf>>;

async function send(
  { client, name, qualifier }: Target,
  path: string,
  event: unknown,
): Promise<{ readonly result: unknown; readonly hasFailed: boolean }> {
  const { Payload, FunctionError } = await client.send(
    new InvokeCommand({ FunctionName: name, Qualifier: qualifier, Payload: JSON.stringify(event) }),
  );
  const hasFailed = FunctionError !== undefined;
  if (!Payload || Payload.length === 0) return { result: null, hasFailed };
  if (hasFailed || isOperatorEndpoint(path)) return { result: JSON.parse(Payload.transformToString()), hasFailed };
  const { status: statusCode, headers, text } = lambdaResponse(Payload);
  return { result: { statusCode, headers, body: unfolded(text) }, hasFailed };
}

/** Bodies are JSON inside of JSON; people want to read them. */
function unfolded(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

const unfinished = z.object({ refused: z.array(z.unknown()), isDone: z.boolean() });

/**
 * Whether an operators' function has left something of its work: it refused something, or time was over. Of a dry run: whether it would.
 */
export function leavesSomething(result: unknown): boolean {
  const { success, data } = unfinished.safeParse(result);
  return success && (data.refused.length > 0 || !data.isDone);
}

if (import.meta.main) {
  await runCommand(
    command.action(async (name, payload, { tokenFrom: tokenSource, json, ...values }) => {
      const { result, hasFailed } = await invoke({ ...values, name, payload, tokenSource });
      if (hasFailed && !json) throw functionErrorOf(result);
      const path = functionPathOf(name);
      const text = json ? undefined : resultInWords(path, result, await eventOf(path, payload));
      print(text ?? JSON.stringify(result, null, 2));
      process.exitCode = hasFailed || leavesSomething(result) ? 1 : 0;
    }),
  );
}
