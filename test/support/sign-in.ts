import { expect } from "vitest";
import { aUser, type Person } from "./people.ts";
import type { Stack } from "./stack.ts";

export type Browser = ReturnType<typeof openBrowser>;

/** What a browser does beside showing pages: it keeps cookies, and goes where it is sent, step by step. */
export function openBrowser() {
  const cookies = new Map<string, string>();
  const send = async (method: string, url: string | URL, headers: Readonly<Record<string, string>> = {}) => {
    const Cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { method, headers: { Cookie, ...headers }, redirect: "manual" });
    for (const each of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(each) ?? [];
      if (/; Max-Age=0(;|$)|expires=Thu, 01 Jan 1970/.test(each)) cookies.delete(name);
      else cookies.set(name, value);
    }
    return response;
  };
  return {
    cookies,
    get: (url: string | URL, headers?: Readonly<Record<string, string>>) => send("GET", url, headers),
    post: (url: string | URL) => send("POST", url),
  };
}

/** The names of the attempts to sign in that the browser has. */
export const attemptsIn = ({ cookies }: Browser): string[] =>
  [...cookies.keys()].filter((name) => name.startsWith("signIn-"));

/** The cookie of the browser's only attempt. */
export const attemptOf = (browser: Browser): string => {
  const [name = "", ...others] = attemptsIn(browser);
  expect([name, others]).toEqual([expect.stringMatching(/^signIn-[\da-f]{12}$/), []]);
  return name;
};

/** Where a response sends the browser. */
export const locationOf = (response: Response): URL => new URL(response.headers.get("Location") ?? "", response.url);

/** Begins an attempt. Returns the provider's page. */
export async function begin({ url }: Stack, browser: Browser, to?: string): Promise<URL> {
  const query = to === undefined ? "" : `?${new URLSearchParams({ to })}`;
  const response = await browser.get(`${url}/sign-in${query}`);
  expect([response.status, await response.text()]).toEqual([302, ""]);
  return locationOf(response);
}

/** Signs in at the provider of `npm start`. Returns the callback's address, where the browser has not been yet. */
export async function choose(browser: Browser, page: URL, name: string): Promise<URL> {
  const choice = locationOf(await browser.get(page));
  const chosen = await browser.post(`${choice}/${name}`);
  return locationOf(await browser.get(locationOf(chosen)));
}

/** Signs in. Returns the callback's response. */
export async function signIn(stack: Stack, browser: Browser, name: string, to?: string): Promise<Response> {
  return await browser.get(await choose(browser, await begin(stack, browser, to), name));
}

/** A user whom the provider knows by this subject. */
export async function aLinkedUser({ sql }: Stack, issuer: string, subject: string): Promise<Person> {
  const user = await aUser(sql);
  await sql`insert into identities (issuer, subject, user_id) values (${issuer}, ${subject}, ${user.id})`;
  return user;
}

/** Lets demo users sign in by the provider of the stack. */
export async function linkDemoUsers({ sql, url }: Stack, ...names: readonly string[]): Promise<void> {
  await sql`
    insert into identities (issuer, subject, user_id)
    select ${`${url}/provider`}, username, id from users where username = any(${names})
  `;
}

/** Fails unless the response is a page that no other site may read, keep or frame, with a link to begin again. */
export async function expectPage(response: Response, status: number, title: string): Promise<string> {
  const html = await response.text();
  expect([response.status, /<h1>(.*)<\/h1>/.exec(html)?.[1], html]).toEqual([status, title, html]);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "content-security-policy": expect.stringMatching(/^default-src 'none'; .*frame-ancestors 'none'$/),
  });
  expect(response.headers.get("access-control-allow-origin")).toBeNull();
  expect(response.headers.get("retry-after")).toBe(status === 503 ? "10" : null);
  expect(html).toMatch(/<a href="http[^"]*\/sign-in(\?[^"]*)?">/);
  expect(html).not.toMatch(/<script|<form|<iframe|<img/);
  return html;
}
