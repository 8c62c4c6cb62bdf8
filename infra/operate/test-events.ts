import { isDeepStrictEqual } from "node:util";
import {
  ConflictException,
  CreateRegistryCommand,
  CreateSchemaCommand,
  DeleteSchemaVersionCommand,
  DescribeSchemaCommand,
  GetDiscoveredSchemaCommand,
  NotFoundException,
  paginateListSchemaVersions,
  type SchemasClient,
  UpdateSchemaCommand,
} from "@aws-sdk/client-schemas";
import * as z from "zod/mini";

/** Where Lambda's console looks for shareable test events, as the AWS SAM CLI writes them. */
const RegistryName = "lambda-testevent-schemas";
const Type = "OpenApi3";
/** The AWS SAM CLI keeps as many. */
const versionsMax = 5;
/** What the console calls the event. */
const eventName = "sample";

const content = z.looseObject({
  components: z.looseObject({ examples: z._default(z.record(z.string(), z.unknown()), {}) }),
});

export type Outcome = "published" | "updated" | "unchanged";

/**
 * Makes an event the sample of a function in Lambda's console. Other events that people have shared there stay.
 * @param isDryRun only says what would happen
 */
export async function publishEvent(
  client: SchemasClient,
  functionName: string,
  event: unknown,
  isDryRun: boolean,
): Promise<Outcome> {
  const schema = { RegistryName, SchemaName: `_${functionName}-schema` };
  const found = await undefinedIfMissing(client.send(new DescribeSchemaCommand(schema)));
  const existing = found?.Content;
  const example = { value: event };
  if (existing !== undefined && isDeepStrictEqual(examplesIn(existing)[eventName], example)) return "unchanged";
  if (isDryRun) return existing === undefined ? "published" : "updated";
  if (existing === undefined) {
    await createRegistry(client);
    await client.send(
      new CreateSchemaCommand({ ...schema, Type, Content: withExample(await discovered(client, event), example) }),
    );
    return "published";
  }
  await makeRoom(client, schema);
  await client.send(new UpdateSchemaCommand({ ...schema, Type, Content: withExample(existing, example) }));
  return "updated";
}

/** The schema of an event, of which the console makes the form. */
async function discovered(client: SchemasClient, event: unknown): Promise<string> {
  const { Content = "" } = await client.send(new GetDiscoveredSchemaCommand({ Events: [JSON.stringify(event)], Type }));
  return Content;
}

const examplesIn = (text: string) => content.parse(JSON.parse(text)).components.examples;

function withExample(text: string, example: object): string {
  const { components, ...others } = content.parse(JSON.parse(text));
  const examples = { ...components.examples, [eventName]: example };
  return JSON.stringify({ ...others, components: { ...components, examples } });
}

async function createRegistry(client: SchemasClient): Promise<void> {
  try {
    await client.send(new CreateRegistryCommand({ RegistryName }));
  } catch (error) {
    if (!(error instanceof ConflictException)) throw error;
  }
}

/** Deletes the oldest version of a schema that has as many as it may have. */
async function makeRoom(client: SchemasClient, schema: { RegistryName: string; SchemaName: string }): Promise<void> {
  const versions: number[] = [];
  for await (const { SchemaVersions = [] } of paginateListSchemaVersions({ client }, schema))
    versions.push(...SchemaVersions.map(({ SchemaVersion }) => Number(SchemaVersion)));
  if (versions.length < versionsMax) return;
  await client.send(new DeleteSchemaVersionCommand({ ...schema, SchemaVersion: `${Math.min(...versions)}` }));
}

async function undefinedIfMissing<Output>(output: Promise<Output>): Promise<Output | undefined> {
  try {
    return await output;
  } catch (error) {
    if (error instanceof NotFoundException) return undefined;
    throw error;
  }
}
