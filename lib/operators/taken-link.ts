/** Why a link is refused (lib/changes/identities.sql). */
export const takenLink = (which: unknown): string =>
  which === "subject" ? "The identity belongs to another user" : "The e-mail address is awaited for another user";
