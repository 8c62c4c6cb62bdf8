import type { Row } from "./client.ts";

/* A column is read by its index and type; another type is a programming error in the statement. */

export function text(row: Row, column: number): string {
  const value = textOrNull(row, column);
  if (value === null) throw new TypeError(`Column ${column} is null`);
  return value;
}

export function textOrNull(row: Row, column: number): string | null {
  const field = row[column];
  if (field?.isNull) return null;
  if (field?.stringValue === undefined) throw new TypeError(`Column ${column} is no text`);
  return field.stringValue;
}

export function integer(row: Row, column: number): number {
  const value = integerOrNull(row, column);
  if (value === null) throw new TypeError(`Column ${column} is null`);
  return value;
}

export function integerOrNull(row: Row, column: number): number | null {
  const field = row[column];
  if (field?.isNull) return null;
  if (field?.longValue === undefined) throw new TypeError(`Column ${column} is no integer`);
  return field.longValue;
}
