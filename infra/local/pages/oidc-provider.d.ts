/* What of oidc-provider is used here. The package has no types, and those of DefinitelyTyped bring sixteen others. */
declare module "oidc-provider" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  export interface AdapterPayload {
    readonly kind?: string;
    readonly uid?: string;
    readonly grantId?: string;
  }

  export interface Adapter {
    upsert(id: string, payload: AdapterPayload): Promise<void>;
    find(id: string): Promise<AdapterPayload | undefined>;
    findByUid(uid: string): Promise<AdapterPayload | undefined>;
    findByUserCode(userCode: string): Promise<AdapterPayload | undefined>;
    consume(id: string): Promise<void>;
    destroy(id: string): Promise<void>;
    revokeByGrantId(grantId: string): Promise<void>;
  }

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
    readonly adapter: (model: string) => Adapter;
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
