import { inTime } from "./deadline.ts";
import { formatRecords } from "./drivers/formatted-records.ts";
import { describeColumns, originsOf } from "./drivers/metadata.ts";
import { convertedBy } from "./drivers/result-options.ts";
import type { Service } from "./operations.ts";
import { bind } from "./parameters.ts";
import { type Outcome, run } from "./query.ts";
import type { Request } from "./requests.ts";
import { checkSize, typesOf, writeRecords } from "./results.ts";
import { runAlone, type Session } from "./session.ts";
import { ownTypesOf } from "./types.ts";

/** ExecuteStatement: one statement, in its transaction or as a call of its own. */
export async function executeStatement(service: Service, request: Request): Promise<string> {
  const { sessions, transactions, limits } = service;
  const statement = bind(request.sql ?? "", request.parameters ?? []);
  const running = (session: Session) =>
    request.transactionId === undefined
      ? runAlone(session, statement, limits, { needsColumns: request.includeResultMetadata })
      : run(session.client, statement, limits);
  const respond = async (session: Session) =>
    responseTo(service, request, session, await inTime(service, session, request, running(session)));
  if (request.transactionId !== undefined) return await transactions.within(request.transactionId, respond);
  const session = await sessions.acquire(service.loginOf(request));
  try {
    return await respond(session);
  } finally {
    void sessions.release(session);
  }
}

/** The response as JSON text. */
async function responseTo(
  { limits }: Service,
  request: Request,
  { client }: Session,
  outcome: Outcome,
): Promise<string> {
  checkSize(outcome);
  const { columns, rows, tag } = outcome;
  if (!columns) return `{"generatedFields":[],"numberOfRecordsUpdated":${updatedBy(tag)}}`;
  const types = typesOf(columns, rows, await ownTypesOf(client, columns));
  const { resultSetOptions } = request;
  const written = resultSetOptions ? types.map(convertedBy(resultSetOptions)) : types;
  if (request.formatRecordsAs === "JSON" && tag.startsWith("SELECT")) {
    const formatted = formatRecords(columns, rows, written, limits);
    return `{"formattedRecords":${JSON.stringify(formatted)},"numberOfRecordsUpdated":0}`;
  }
  const records = writeRecords(rows, written);
  if (!request.includeResultMetadata) return `{"numberOfRecordsUpdated":0,"records":${records}}`;
  const metadata = JSON.stringify(describeColumns(columns, types, await originsOf(client, columns)));
  return `{"columnMetadata":${metadata},"numberOfRecordsUpdated":0,"records":${records}}`;
}

/** `INSERT 0 3` updated 3. For a statement with `returning` the service's answer is not documented, so it is 0. */
const updatedBy = (tag: string) => (/^(INSERT|UPDATE|DELETE|MERGE)\b/.test(tag) ? tag.split(" ").at(-1) : 0);
