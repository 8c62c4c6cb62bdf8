/* What of oidc-provider is used here. The package has no types, and those of DefinitelyTyped bring sixteen others. */
declare module "oidc-provider" {
  type Respond = (
    request: import("node:http").IncomingMessage,
    response: import("node:http").ServerResponse,
    result?: object,
  ) => Promise<unknown>;

  export class Provider {
    constructor(issuer: string, configuration: object);
    readonly Grant: new (
      of: object,
    ) => { addOIDCScope(scope: string): void; save(): Promise<string> };
    readonly callback: () => Respond;
    readonly interactionDetails: Respond;
    readonly interactionFinished: Respond;
  }

  export const errors: { readonly SessionNotFound: ErrorConstructor };
}

declare module "oidc-provider/lib/adapters/memory_adapter.js" {
  export function createMemoryAdapter(): unknown;
}
