import { openApiDocument } from "./document.ts";

/* Prints the document with the exact patterns of names, for .ci/fuzz: with others it would send names that are refused. */

console.log(JSON.stringify(openApiDocument({ server: process.argv[2], areNamesExact: true })));
