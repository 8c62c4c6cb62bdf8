export type Level = "info" | "warn" | "error";

/**
 * Writes one line of JSON to the function's log. Lambda's `console.log` would put time, invocation and level before it,
 * and then the metric filters of CloudWatch find no fields (Lambda, "Log and monitor Node.js Lambda functions").
 */
export function writeLog(level: Level, fields: Readonly<Record<string, unknown>>): void {
  process.stdout.write(`${JSON.stringify({ level, time: new Date().toISOString(), ...fields })}\n`);
}
