import { internalFailure } from "../errors.ts";
import type { Request } from "../requests.ts";
import { arrayOf, type ResultType } from "../types.ts";

/** The type with which a value is written under `resultSetOptions`; metadata still tell the column's own. */
export function convertedBy(options: NonNullable<Request["resultSetOptions"]>): (type: ResultType) => ResultType {
  const converted = (type: ResultType): ResultType => {
    if (type.element) return arrayOf(converted(type.element));
    if (type.name === "numeric" && options.decimalReturnType === "DOUBLE_OR_LONG")
      return { ...type, member: doubleOrLong, json: decimal };
    if (type.name === "int8" && options.longReturnType === "STRING")
      return { ...type, member: "stringValue", json: JSON.stringify };
    return type;
  };
  return converted;
}

const doubleOrLong = (text: string) => (text.includes(".") ? "doubleValue" : "longValue");

function decimal(text: string): string {
  if (!/\d/.test(text)) throw internalFailure();
  return text.includes(".") ? String(Number(text)) : text;
}
