import { describe, expect, it } from "vitest";
import { createClient, imageOf } from "../../../lib/client/index.js";
import { headerOf } from "../../support/client.ts";

/** A network that gives every request the same answer. */
function recorder(response: () => Response = () => Response.json("slug")) {
  const urls: string[] = [];
  const sent: RequestInit[] = [];
  const fetch = async (url: string, init: RequestInit) => {
    urls.push(url);
    sent.push(init);
    return response();
  };
  return { urls, sent, fetch };
}

const { urls, fetch } = recorder();
const colophon = createClient("https://api.example.com/v1/", { fetch });

describe("The client", () => {
  it.each([
    ["../admin-users", "..%2Fadmin-users"],
    ["a/b?c#d", "a%2Fb%3Fc%23d"],
    ["100%", "100%25"],
    ["$&", "%24%26"],
    ["日本", "%E6%97%A5%E6%9C%AC"],
  ])("encodes %s as one part of the path", async (slug, encoded) => {
    await colophon.GET("/contributor/slug/{slug}", { path: { slug } });

    expect(urls.at(-1)).toBe(`https://api.example.com/v1/contributor/slug/${encoded}`);
  });

  it.each(["", ".", ".."])("throws for the path parameter '%s', which would lead to another endpoint", async (slug) => {
    const before = urls.length;

    await expect(colophon.GET("/contributor/slug/{slug}", { path: { slug } })).rejects.toThrow(TypeError);
    expect(urls).toHaveLength(before);
  });

  it("sends a query without what is empty in it", async () => {
    await colophon.GET("/contributors", { query: { client: 1, search: "", limit: 0 } });
    await colophon.GET("/publishers", { query: { search: "a&b +c" } });
    await colophon.GET("/publishers", { query: { search: "" } });

    expect(urls.slice(-3).map((url) => url.replace("https://api.example.com/v1", ""))).toEqual([
      "/contributors?client=1&limit=0",
      "/publishers?search=a%26b+%2Bc",
      "/publishers",
    ]);
  });

  it("sends the cookie along where it is needed, unless told otherwise", async () => {
    const { sent, fetch } = recorder();
    const colophon = createClient("https://api.example.com", { fetch });

    await colophon.GET("/admin-roles");
    await colophon.GET("/session");
    await colophon.POST("/sign-out");
    await colophon.GET("/contributor/random", { query: { client: 1 } });
    await createClient("https://api.example.com", { fetch, credentials: "omit" }).GET("/admin-roles");
    await colophon.GET("/publishers", { credentials: "include" });

    const modes = sent.map(({ credentials }) => credentials);
    expect(modes).toEqual(["include", "include", "include", undefined, "omit", "include"]);
  });

  it("sends the headers of the client and of the call, and gives what else it is told to fetch", async () => {
    const { sent, fetch } = recorder();

    const forwarding = createClient("https://api.example.com", { fetch, headers: { Cookie: "a=b", "X-Page": "1" } });
    await forwarding.GET("/publishers", { headers: { "X-Page": "2" }, cache: "no-store" });

    expect([headerOf(sent[0], "Cookie"), headerOf(sent[0], "X-Page"), sent[0]?.cache]).toEqual([
      "a=b",
      "2",
      "no-store",
    ]);
    expect(sent[0]?.body).toBeUndefined();
  });

  it("gives the version of a record, and the id of an added one", async () => {
    const record = recorder(() => Response.json({ id: 7 }, { headers: { ETag: '"3"' } }));
    const add = recorder(() =>
      Response.json({ data: "Role added", code: 200 }, { headers: { Location: "/v1/admin-roles/id/207" } }),
    );

    const opened = await createClient("", record).GET("/admin-roles/id/{id}", { path: { id: 7 } });
    const added = await createClient("", add).POST("/admin-roles/add", { body: { name: "a", description: "b" } });

    expect([opened.version, opened.created, added.version, added.created]).toEqual(['"3"', undefined, undefined, 207]);
  });

  it.each([
    [400, { data: "Invalid parameter: first_name", code: 400 }, "Invalid parameter: first_name", "first_name"],
    [400, { data: "Required parameters missing", code: 400 }, "Required parameters missing", undefined],
    [404, { data: "Contributor not found", code: 404 }, "Contributor not found", undefined],
    [502, { message: "Bad gateway" }, "HTTP status 502", undefined],
  ])("gives the error of status %i, and the parameter that it names", async (status, body, data, field) => {
    const { fetch } = recorder(() => Response.json(body, { status }));

    const { error } = await createClient("", { fetch }).GET("/contributors", { query: { client: 1 } });

    expect(error).toEqual({ code: status, data, ...(field && { field }) });
  });

  it("gives the status of an answer that is no envelope", async () => {
    const { fetch } = recorder(() => new Response("<h1>Bad gateway</h1>", { status: 502 }));

    const { error } = await createClient("", { fetch }).GET("/contributors", { query: { client: 1 } });

    expect(error).toEqual({ code: 502, data: "HTTP status 502" });
  });
});

describe("The data URL of an image", () => {
  it("has its type and its bytes", async () => {
    const bytes = Uint8Array.from({ length: 100_000 }, (_, index) => index % 251);

    const url = await imageOf(new File([bytes], "a.png", { type: "image/png" }));

    expect(url.slice(0, 22)).toBe("data:image/png;base64,");
    expect(Buffer.from(url.slice(22), "base64")).toEqual(Buffer.from(bytes));
  });

  it("has as many characters as the service takes, or is refused before it is read", async () => {
    const prefix = "data:image/png;base64,".length;
    const most = Math.floor((6_000_000 - prefix) / 4) * 3;
    const file = (size: number) => new Blob([new Uint8Array(size)], { type: "image/png" });

    expect((await imageOf(file(most))).length).toBeLessThanOrEqual(6_000_000);
    await expect(imageOf(file(most + 1))).rejects.toThrow(RangeError);
  });
});
