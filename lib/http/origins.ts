/**
 * Origins of pages that may call administrative endpoints with the cookie, as browsers write them. `http://localhost:*`
 * means every port, as in a Content Security Policy; the settings of a stage cannot contain it.
 */
export const allowedOrigins: readonly string[] = (process.env.ALLOWED_ORIGINS ?? "").split(",").filter(Boolean);

/** Whether the origin is one of these, or has a port where these allow every port. */
export const isAmong = (origins: readonly string[], origin: string): boolean =>
  origins.includes(origin) || origins.includes(`${origin.replace(/:\d+$/, "")}:*`);

/** Whether this is one origin. `URL` alone also accepts `*`, commas and quotes in the name of a host. */
export const isOrigin = (text: string): boolean =>
  /^https?:\/\/[a-z\d.[\]:-]+$/.test(text) && text === URL.parse(text)?.origin;
