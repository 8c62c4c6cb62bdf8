import { describe, expect, it } from "vitest";
import { createClient } from "../../../lib/client/index.js";

const asked: string[] = [];
const colophon = createClient("https://api.example.com/v1/", {
  fetch: async (request) => {
    asked.push(request.url);
    return Response.json("slug");
  },
});

describe("The client", () => {
  it.each([
    ["../admin-users", "..%2Fadmin-users"],
    ["a/b?c#d", "a%2Fb%3Fc%23d"],
    ["100%", "100%25"],
    ["$&", "%24%26"],
    ["日本", "%E6%97%A5%E6%9C%AC"],
  ])("encodes %s as one part of the path", async (slug, encoded) => {
    await colophon.GET("/contributor/slug/{slug}", { path: { slug } });

    expect(asked.at(-1)).toBe(`https://api.example.com/v1/contributor/slug/${encoded}`);
  });

  it.each(["", ".", ".."])("throws for the path parameter '%s', which would lead to another endpoint", async (slug) => {
    const before = asked.length;

    await expect(colophon.GET("/contributor/slug/{slug}", { path: { slug } })).rejects.toThrow(TypeError);
    expect(asked).toHaveLength(before);
  });

  it("sends the cookie along unless told not to", async () => {
    const modes: string[] = [];
    const fetch = async (request: Request) => {
      modes.push(request.credentials);
      return Response.json("slug");
    };

    const options = { query: { client: 1 } };
    await createClient("https://api.example.com", { fetch }).GET("/contributor/random", options);
    await createClient("https://api.example.com", { fetch, credentials: "omit" }).GET("/contributor/random", options);

    expect(modes).toEqual(["include", "omit"]);
  });
});
