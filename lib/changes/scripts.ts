import { names } from "./all.ts";

/** All files, in the order in which they are run. */
export const scripts = await Promise.all(
  names.map(async (name) => {
    const file = name.replaceAll("_", "-");
    // The build puts all files into the bundle; Vite, by which tests load them, warns of such an import.
    const { default: text }: { readonly default: string } = await import(/* @vite-ignore */ `./${file}.sql`);
    return { path: `lib/changes/${file}.sql`, text };
  }),
);
