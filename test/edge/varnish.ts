import type { PublicRead } from "../../infra/api/public-reads.ts";

export interface EdgeOptions {
  /** The API key that the cache sends to the service. */
  readonly key?: string;
  /** The origins of panels. */
  readonly allowedOrigins?: readonly string[];
}

/**
 * A configuration with which Varnish caches as CloudFront does (infra/stacks/edge/edge.ts). The key is the path, the
 * declared parameters in the order they were sent, whether the visitor accepts gzip, and the origin of a panel; the
 * service gets nothing else of a public read. Responses are cached according to their Cache-Control, and keep their `Cache-Tag` for invalidations,
 * which come as `Ban` through the socket `invalidations`.
 */
export function configuration(
  origin: string,
  reads: readonly PublicRead[],
  { key = "", allowedOrigins = [] }: EdgeOptions = {},
): string {
  const { host, hostname, port } = new URL(origin);
  return `
    vcl 4.1;
    import header;
    import std;

    backend origin {
      .host = "${hostname}";
      .port = "${port}";
      .connect_timeout = 3s;
      .first_byte_timeout = 60s;
      .between_bytes_timeout = 60s;
    }

    sub vcl_recv {
      if (local.socket == "invalidations") {
        if (!std.ban(req.http.Ban)) { return (synth(400, std.ban_error())); }
        return (synth(200));
      }
      # vcl_hit and vcl_synth say how stale the result may be.
      if (req.restarts > 0) {
        set req.grace = std.duration(req.http.X-Grace, 0s);
        return (hash);
      }
      set req.http.Host = "${host}";
      ${reads.map((each) => receive(each, key !== "", allowedOrigins)).join("")}
      return (pass);
    }

    sub vcl_hash {
      hash_data(req.url);
      hash_data(req.http.Accept-Encoding);
      hash_data(req.http.Origin);
      return (lookup);
    }

    # An object stays for as long as errors may be hidden by it, but waits for the origin after stale-while-revalidate.
    sub vcl_hit {
      if (obj.ttl >= 0s) {
        set req.http.X-Cache = "HIT";
        return (deliver);
      }
      set req.http.X-Cache = "STALE";
      set req.http.X-Has-Stale = "true";
      set req.http.X-Grace = regsub(obj.http.Cache-Control, "^.*stale-while-revalidate=(\\d+).*$", "\\1s");
      if (req.restarts == 0 && obj.ttl + std.duration(req.http.X-Grace, 0s) < 0s) { return (restart); }
      return (deliver);
    }

    sub vcl_miss {
      set req.http.X-Cache = "MISS";
    }

    sub vcl_backend_fetch {
      ${key && `set bereq.http.x-api-key = "${key}";`}
      # The origin has just failed.
      if (bereq.is_bgfetch && bereq.http.X-Error) { return (abandon); }
      if (!bereq.uncacheable) { set bereq.first_byte_timeout = 8s; }
    }

    sub vcl_backend_response {
      if (beresp.status != 200 || beresp.ttl <= 0s || beresp.http.Cache-Control !~ "^public,") {
        # Any other result would replace the stale copy.
        if (beresp.status >= 500 && bereq.http.X-Has-Stale) { return (abandon); }
        set beresp.uncacheable = true;
        set beresp.ttl = 0s;
        return (deliver);
      }
      # The key already contains everything that the results vary by.
      unset beresp.http.Vary;
      # Of the stale-… the first is Varnish's own grace.
      set beresp.grace = std.duration(
        regsub(beresp.http.Cache-Control, "^.*stale-if-error=(\\d+).*$", "\\1s"), beresp.grace);
      set beresp.keep = 0s;
      return (deliver);
    }

    sub vcl_backend_error {
      if (bereq.http.X-Has-Stale) { return (abandon); }
      set beresp.uncacheable = true;
      set beresp.ttl = 0s;
    }

    # After an abandoned fetch.
    sub vcl_synth {
      if (req.http.X-Has-Stale && !req.http.X-Error) {
        set req.http.X-Error = "true";
        set req.http.X-Grace = "1w";
        return (restart);
      }
    }

    sub vcl_deliver {
      unset resp.http.X-Varnish;
      unset resp.http.Via;
      # CloudFront's response headers policy removes it.
      unset resp.http.Cache-Tag;
      if (req.http.X-Cache) { set resp.http.X-Cache = req.http.X-Cache; }
      return (deliver);
    }
  `;
}

/** Strings of VCL have no escapes, so a regular expression is written as it is. */
const receive = (
  { pattern, parameters, isCached, hasPages }: PublicRead,
  isDoor: boolean,
  allowedOrigins: readonly string[],
) => `
      if (req.url ~ "^${pattern.replaceAll("*", "[^?]*")}(\\?|$)") {
        ${keepHeaders(isCached ? "host|origin|accept-encoding|if-none-match|if-modified-since" : "host|origin|accept-encoding")}
        if (req.http.Accept-Encoding ~ "\\bgzip\\b") { set req.http.Accept-Encoding = "gzip"; }
        else { unset req.http.Accept-Encoding; }
        if (!(${allowedOrigins.map((each) => `req.http.Origin == "${each}"`).join(" || ") || "false"})) {
          set req.http.Origin = "*";
        }
        set req.url = regsub(req.url, "\\?", "?&");
        set req.url = regsuball(req.url, "&(?!(${parameters.join("|")})([=&]|$))[^&]*", "");
        set req.url = regsub(regsub(req.url, "\\?&", "?"), "\\?$", "");
        ${hasPages && isDoor ? toWholeList : ""}
        ${isCached ? `if (req.method == "GET" || req.method == "HEAD") { return (hash); }` : ""}
        return (pass);
      }
`;

/** As CloudFront's function does it (infra/stacks/edge/viewer-request.ts). */
const toWholeList = `
        if (req.method ~ "^(GET|HEAD)$" && req.url !~ "[?&]limit=0*[0-9]{1,3}(&|$)") {
          set req.url = "/whole" + req.url;
          return (pass);
        }
`;

/** Removes all other headers. */
const keepHeaders = (names: string) => `
        header.regsub(req, "(?i)^(?!(${names}):).*$", "X-Dropped: 1");
        unset req.http.X-Dropped;
`;
