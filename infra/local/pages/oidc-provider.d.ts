/* What of oidc-provider is used here. The package has no types, and those of DefinitelyTyped bring sixteen others. */
declare module "oidc-provider" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  interface Grant {
    addOIDCScope(scope: string): void;
    save(): Promise<string>;
  }

  interface Context {
    readonly oidc: {
      readonly provider: { readonly Grant: new (of: { clientId: string; accountId: string }) => Grant };
      readonly session?: { readonly accountId?: string };
    };
  }

  interface Account {
    readonly accountId: string;
    claims(): Readonly<Record<string, unknown>> & { readonly sub: string };
  }

  interface Policy {
    remove(prompt: string): void;
  }

  export interface Configuration {
    readonly adapter: unknown;
    readonly interactions: {
      readonly policy: Policy;
      readonly url: (context: Context, interaction: { readonly uid: string }) => string;
    };
    readonly findAccount: (context: Context, id: string) => Account | undefined;
    readonly loadExistingGrant: (context: Context) => Promise<Grant>;
    readonly [option: string]: unknown;
  }

  export class Provider {
    constructor(issuer: string, configuration: Configuration);
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<unknown>;
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>;
  }

  export const errors: { readonly SessionNotFound: new (...of: never) => Error };
  export const interactionPolicy: { base(): Policy };
}

declare module "oidc-provider/lib/adapters/memory_adapter.js" {
  export function createMemoryAdapter(): unknown;
}
