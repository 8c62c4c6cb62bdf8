/** The origins of this machine, with every port: those of a panel while it is developed, and of the reference. */
export const loopbackOrigins: readonly string[] = ["http", "https"].flatMap((scheme) =>
  ["localhost", "127.0.0.1", "[::1]"].map((host) => `${scheme}://${host}:*`),
);
