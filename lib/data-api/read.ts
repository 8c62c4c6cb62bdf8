import type { Row } from "./client.ts";

/* A column is read by its index and type; another type is a programming error in the statement. */

export const text = (row: Row, column: number): string => present(textOrNull(row, column), column);

export function textOrNull(row: Row, column: number): string | null {
  const field = row[column];
  if (field?.isNull) return null;
  if (field?.stringValue === undefined) throw new TypeError(`Column ${column} is no text`);
  return field.stringValue;
}

export const integer = (row: Row, column: number): number => present(integerOrNull(row, column), column);

export function integerOrNull(row: Row, column: number): number | null {
  const field = row[column];
  if (field?.isNull) return null;
  if (field?.longValue === undefined) throw new TypeError(`Column ${column} is no integer`);
  return field.longValue;
}

function present<Value>(value: Value | null, column: number): Value {
  if (value === null) throw new TypeError(`Column ${column} is null`);
  return value;
}
