import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { build } from "esbuild";

/* `npx node test/browser/panel/serve.ts 5173` shows the panel of the service that `npm start` runs. */

export interface PanelServer {
  readonly url: string;
  close(): void;
}

const page = `<!doctype html>
<html lang="en">
  <title>Colophon</title>
  <div id="root"></div>
  <script type="module" src="/panel.js"></script>
</html>`;

/** Bundles the panel, and serves it on an origin of its own: a free port of this machine if none is named. */
export async function servePanel(port = 0): Promise<PanelServer> {
  const { outputFiles } = await build({
    entryPoints: [`${import.meta.dirname}/panel.tsx`],
    bundle: true,
    write: false,
    minify: true,
    format: "esm",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const server = createServer(({ url }, response) => {
    const isScript = url === "/panel.js";
    response.writeHead(200, { "Content-Type": isScript ? "text/javascript" : "text/html; charset=utf-8" });
    response.end(isScript ? outputFiles[0]?.contents : page);
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return { url: `http://localhost:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

if (import.meta.main) console.log((await servePanel(Number(process.argv[2] ?? 0))).url);
