import { validation } from "../../http/service-error.ts";

interface Hint {
  readonly type: number;
  readonly format?: RegExp;
  readonly message?: string;
}

/** AWS, API_SqlParameter: no `T` and no `Z`. The service also accepts more than three decimal places. */
const hints = new Map<string, Hint>([
  ["DATE", { type: 1082, format: /^\d{4,}-\d{2}-\d{2}$/, message: "Date format must be yyyy-mm-dd" }],
  ["TIME", { type: 1083, format: /^\d{2}:\d{2}:\d{2}(\.\d+)?$/, message: "Time format must be hh:mm:ss[.fff]" }],
  [
    "TIMESTAMP",
    {
      type: 1114,
      format: /^\d{4,}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(\.\d+)?$/,
      message: "Timestamp format must be yyyy-mm-dd hh:mm:ss[.fff]",
    },
  ],
  ["DECIMAL", { type: 1700 }],
  ["JSON", { type: 114 }],
  ["UUID", { type: 2950 }],
]);

/** The type that a text is bound as. */
export function typeOfHint(name: string, text: string): number {
  const hint = hints.get(name);
  if (!hint) throw validation(`Unknown type hint ${name}`);
  if (hint.format?.test(text) === false) throw validation(`${hint.message}`);
  return hint.type;
}
