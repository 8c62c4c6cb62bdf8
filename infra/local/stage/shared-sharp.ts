import { isMainThread } from "node:worker_threads";
import sharp from "sharp";

/*
 * All threads share libvips, and what it may load is decided for all of them: the main thread decides. In the others
 * `sharp.block` does nothing, since for a moment it would take all formats from every thread.
 */
if (isMainThread) await import("../../../lib/images/sharp.ts");
else Object.assign(sharp, { block: () => sharp });
