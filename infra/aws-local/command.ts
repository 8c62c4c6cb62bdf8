#!/usr/bin/env node
import module from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

// Node keeps what it compiles, types stripped, for its threads and for the next start.
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), "aws-local-compiled");
module.enableCompileCache();
const { main } = await import("./commands.ts");
await main();
