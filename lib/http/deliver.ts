import { Readable } from "node:stream";
import type { APIGatewayProxyEvent } from "aws-lambda";
import { log, serializeError } from "./log.ts";
import { ContractError } from "./response.ts";

/** A reader who takes less within these seconds, although more is offered, is too slow. */
const readerBytesMin = 1_000_000;
const readerSeconds = 10;

/** What is offered to the reader at once; the pace of a slow reader is measured in such pieces. */
export const pieceBytes = 16_384;

/**
 * Delivers a list to its reader. The list breaks off at the deadline, and if the reader is too slow: a few slow readers
 * would occupy all environments of the function. Then the connection is closed, so half a list never looks complete.
 */
export function deliver(event: APIGatewayProxyEvent, content: Readable, deadline: number): Readable {
  let isOffered = false;
  let bytes = 0;
  let bytesBySecond: readonly number[] = [];

  async function* pieces(): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of content) {
        for (const piece of piecesOf(Buffer.from(chunk))) {
          isOffered = true;
          yield piece;
          isOffered = false;
          bytes += piece.length;
        }
      }
    } catch (error) {
      // A time-out, a slow reader and a logout meanwhile may be the client's fault, anything else is not. A timer may
      // fire a millisecond early.
      const isRefused = error instanceof ContractError && error.status < 500;
      const isWarning = isRefused || error instanceof BrokenOff || performance.now() + 1 >= deadline;
      log(event, isWarning ? "warn" : "error", { broken: true, error: serializeError(error) });
      throw error;
    }
  }

  const body = Readable.from(pieces());
  const breakOff = (reason: string) => void body.destroy(new BrokenOff(reason));
  const end = setTimeout(breakOff, deadline - performance.now(), "The list takes longer than it may");
  // Ticks are counted, not time: a machine that stood still for a while ticks once, and breaks no connection.
  const clock = setInterval(() => {
    // Without an offer the reader waits for the database.
    bytesBySecond = isOffered ? [...bytesBySecond, bytes].slice(-readerSeconds) : [];
    bytes = 0;
    if (bytesBySecond.length === readerSeconds && sum(bytesBySecond) < readerBytesMin) {
      breakOff(`The reader took less than ${readerBytesMin} bytes in ${readerSeconds} seconds`);
    }
  }, 1_000);
  return body.once("close", () => {
    clearTimeout(end);
    clearInterval(clock);
  });
}

function* piecesOf(chunk: Buffer): Generator<Buffer> {
  for (let start = 0; start < chunk.length; start += pieceBytes) yield chunk.subarray(start, start + pieceBytes);
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** The list itself is in order. */
class BrokenOff extends Error {
  override readonly name = "BrokenOff";
}
