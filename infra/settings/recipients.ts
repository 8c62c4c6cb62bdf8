/** Addresses, and ARNs of SNS topics. */
export type Recipients = string | readonly string[];

export const isTopic = (recipient: string): boolean => recipient.startsWith("arn:");

/** The region of a topic. */
export const regionOf = (topic: string): string | undefined => topic.split(":")[3];
