/** Origins of pages that may call administrative endpoints with the cookie, as browsers write them. */
export const allowedOrigins: readonly string[] = (process.env.ALLOWED_ORIGINS ?? "").split(",").filter(Boolean);
