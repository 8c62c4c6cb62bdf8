/** A measured value. */
export interface Row {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** The most it may be. */
  readonly bound?: number;
}

/** False for NaN, too. */
export const keeps = ({ value, bound = Number.POSITIVE_INFINITY }: Row): boolean => value <= bound;

export const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;

/** Milliseconds that a piece of work takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

const warmUp = 5;

/** Medians of several measurements. They run in turns, so that other load on the machine affects all of them equally. */
export async function sideBySide(measurements: readonly (() => Promise<number>)[], rounds: number): Promise<number[]> {
  const values = measurements.map((): number[] => []);
  for (let round = -warmUp; round < rounds; round++) {
    for (const [index, measure] of measurements.entries()) {
      const value = await measure();
      if (round >= 0) values[index]?.push(value);
    }
  }
  return values.map(median);
}

export function print(title: string, rows: readonly Row[]): void {
  console.log(`\n${title}`);
  for (const row of rows) {
    const { what, value, unit, bound } = row;
    const verdict = bound === undefined ? "" : `${keeps(row) ? "within" : "OVER"} ${bound}`;
    console.log(`  ${what.padEnd(72)} ${value.toFixed(2).padStart(10)} ${unit.padEnd(4)} ${verdict}`);
  }
}
