import { domainToUnicode } from "node:url";
import fc from "fast-check";
import { expect, it } from "vitest";
import { useStack } from "../../support/stack.ts";

const stack = useStack();

const domainsOf = async (hosts: readonly string[]) => {
  const urls = hosts.map((host) => `https://${host}/`);
  const rows =
    await stack.sql`select domain_of(url) as domain from unnest(${urls}::text[]) with ordinality as urls (url, position) order by position`;
  return rows.map(({ domain }) => domain);
};

it("shows hosts in Unicode as Node.js does", async () => {
  const label = fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 });
  const hosts = fc
    .sample(label, 3000)
    .flatMap((text) => URL.parse(`https://${text}.example/`)?.hostname ?? [])
    .filter((host) => host.includes("xn--"));

  expect(hosts.length).toBeGreaterThan(100);
  expect(await domainsOf(hosts)).toEqual(hosts.map((host) => domainToUnicode(host).replace(/^www\./, "")));
});

it("shows labels that are no Punycode as they are", async () => {
  const hosts = ["xn--.de", "xn--a.de", "xn--99999999.de", "xn--9999999999999999999999999999.de", "xn--a-ü.de"];

  expect(await domainsOf(hosts)).toEqual(hosts);
});
