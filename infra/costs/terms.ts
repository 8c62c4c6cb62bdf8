import type { Price } from "./prices.ts";

/** An amount of money, and the arithmetic that leads to it. */
export interface Term {
  readonly text: string;
  readonly dollars: number;
}

export interface Factor {
  readonly value: number;
  readonly unit?: string;
  /** From the unit that people read to the one that the price is for. */
  readonly scale?: number;
}

/** A product and its words, made of the same numbers. */
export function product(price: Price, ...factors: Factor[]): Term {
  const words = factors.flatMap(({ value, unit }) => {
    if (unit) return `${count(value)} ${unit}`;
    return value === 1 ? [] : count(value);
  });
  return {
    text: [...words, listed(price)].join(" × "),
    dollars: factors.reduce((all, { value, scale = 1 }) => all * value * scale, price.dollars),
  };
}

/** A number as people read it. */
export const count = (value: number): string => value.toLocaleString("en-US", { maximumFractionDigits: 2 });

/** A price as AWS lists it. */
export const listed = ({ dollars }: Price): string =>
  `$${dollars.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 4 })}`;

/** A million. With it kilobytes become the gigabytes that prices are for. */
export const million: Factor = { value: 1, unit: "M" };
export const times = (value: number): Factor => ({ value });
export const kilobytes = (value: number): Factor => ({ value, unit: "KB" });
export const months = (days: number): Factor => ({ value: days, unit: "days ÷ 30", scale: 1 / 30 });
/** Of gigabyte-seconds, a million is priced. */
export const milliseconds = (value: number): Factor => ({ value, unit: "ms", scale: 0.001 });
export const megabytes = (value: number): Factor => ({ value: value / 1_024, unit: "GB" });
export const gigabytes = (value: number): Factor => ({ value, unit: "GB" });
export const capacityUnits = (value: number): Factor => ({ value, unit: "ACU" });
export const hours = (value: number): Factor => ({ value, unit: "h" });
