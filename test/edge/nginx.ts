import type { PublicRead } from "../../infra/api/public-reads.ts";

interface Place {
  readonly directory: string;
  readonly socket: string;
  /** The URL of the server behind the cache. */
  readonly origin: string;
  readonly reads: readonly PublicRead[];
}

/**
 * A configuration with which nginx caches as CloudFront does (infra/stacks/edge/edge.ts). The key is the path, the
 * declared parameters, and whether the visitor accepts gzip; the origin gets nothing else of a public read. Answers are
 * cached according to their Cache-Control, including `stale-while-revalidate` and `stale-if-error`.
 */
export function configuration({ directory, socket, origin, reads }: Place): string {
  const { host } = new URL(origin);
  const parameters = [...new Set(reads.flatMap((read) => read.parameters))];
  return `
    daemon off;
    master_process off;
    pid ${directory}/pid;
    ${process.getuid?.() === 0 ? "user root;" : ""}
    env FAKETIME_TIMESTAMP_FILE;
    env FAKETIME_NO_CACHE;
    env FAKETIME_DONT_FAKE_MONOTONIC;
    events { worker_connections 1024; }
    http {
      access_log off;
      client_body_temp_path ${directory}/bodies;
      proxy_temp_path ${directory}/temporary;
      fastcgi_temp_path ${directory}/fastcgi;
      uwsgi_temp_path ${directory}/uwsgi;
      scgi_temp_path ${directory}/scgi;
      proxy_cache_path ${directory}/kept keys_zone=kept:10m inactive=2d use_temp_path=off;
      keepalive_requests 1000000;
      upstream origin { server ${host}; keepalive 64; }
      map $http_accept_encoding $gzip { default ""; "~\\bgzip\\b" "gzip"; }
      map $request_uri $path { "~^(?<plain>[^?]*)" $plain; }
      ${parameters.map(parameterMap).join("\n")}
      server {
        listen unix:${socket};
        merge_slashes off;
        proxy_http_version 1.1;
        ${reads.map((read) => readLocation(host, read)).join("\n")}
        location / {
          proxy_pass http://origin;
          proxy_set_header Host ${host};
          proxy_set_header Connection "";
        }
      }
    }
  `;
}

/** nginx's own `$arg_…` ignores case, so `LIMIT` would be `limit`; CloudFront distinguishes them. */
const parameterMap = (name: string) =>
  `map $args $sent_${name} { default ""; "~(?:^|&)(?<found_${name}>${name}=[^&]*)" "&$found_${name}"; }`;

const readLocation = (host: string, { pattern, parameters, isCached }: PublicRead) => `
  location ~ ^${pattern.replaceAll("*", ".*")}$ {
    set $declared "${parameters.map((name) => `$sent_${name}`).join("")}";
    proxy_pass http://origin$path?$declared;
    proxy_pass_request_headers off;
    proxy_set_header Host ${host};
    proxy_set_header Connection "";
    proxy_set_header Accept-Encoding $gzip;
    add_header X-Cache $upstream_cache_status always;
    ${isCached ? keeping : ""}
  }
`;

const keeping = `
  proxy_cache kept;
  proxy_cache_key "$path?$declared $gzip";
  # The key already contains everything that the answers vary by.
  proxy_ignore_headers Vary;
  proxy_cache_revalidate on;
  proxy_cache_background_update on;
  # This nginx applies stale-if-error to broken connections, but not to 5xx answers, so these are listed here.
  proxy_cache_use_stale http_500 http_502 http_503 http_504;
  proxy_cache_lock on;
  proxy_cache_lock_timeout 60s;
  proxy_cache_lock_age 60s;
`;
