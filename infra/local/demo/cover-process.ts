import { availableParallelism } from "node:os";
import { type Cover, drawCover } from "./cover.ts";

/* Draws covers for the process that started it: one message in, one message out for each. */

process.on("message", async (covers: Cover[]) => {
  const draw = async () => {
    for (let cover = covers.pop(); cover; cover = covers.pop())
      process.send?.({ key: cover.key, bytes: await drawCover(cover) });
  };
  await Promise.all(Array.from({ length: availableParallelism() }, draw));
  process.disconnect();
});
