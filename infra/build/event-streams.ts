/**
 * Stands in for @smithy/core/event-streams in the bundles: no command that functions send has an event stream. The SDK
 * imports the module when the first one comes, and for such an import esbuild would keep the unused parts of all that it
 * imports in turn: each bundle would be 55 kB larger, and load a tenth more slowly.
 */
export const resolveEventStreamSerdeConfig = <Config>(config: Config): Config => config;
export const eventStreamSerdeProvider = (): undefined => undefined;
