/** `1 line`, `2,001 lines` */
export const plural = (count: number | bigint, noun: string): string =>
  `${count.toLocaleString("en")} ${noun}${Number(count) === 1 ? "" : "s"}`;
