/* The package has no types, and those of DefinitelyTyped bring sixteen other packages. */
declare module "oidc-provider";
declare module "oidc-provider/lib/adapters/memory_adapter.js";
