/** Why an operators' function does nothing. It is expected, so neither the operator nor the log gets a stack trace. */
export const refusal = (message: string, options?: ErrorOptions): Error =>
  Object.assign(new Error(message, options), { name: "Refusal", stack: `Refusal: ${message}` });
