/** The provider's own name for itself. */
export const issuer = process.env.SIGN_IN_ISSUER ?? "";
/** This stage's id at the provider. */
export const clientId = process.env.SIGN_IN_CLIENT_ID ?? "";
