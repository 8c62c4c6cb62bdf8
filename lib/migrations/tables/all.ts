/** A file of this folder, with its path in the repository. */
export interface Migration {
  readonly name: string;
  readonly path: string;
  readonly text: string;
}

/** A landed file never changes: what is wrong is put right by the next one. */
const names = [
  "01-names",
  "02-images",
  "03-access",
  "04-catalogue",
  "05-series",
  "06-counters",
  "07-ledger",
  "08-edge",
  "09-sign-in",
  "10-imports",
  "11-roles",
];

/** Every migration in the order it is applied. */
export const migrations: readonly Migration[] = await Promise.all(
  names.map(async (name) => {
    // The build puts all files into the bundle; Vite, by which tests load them, warns of such an import.
    const { default: text }: { readonly default: string } = await import(/* @vite-ignore */ `./${name}.sql`);
    return { name, path: `lib/migrations/tables/${name}.sql`, text };
  }),
);
