import type { Contributor, ContributorListItem, Work } from "colophon-client";

export interface Html {
  readonly html: string;
}

type Content = string | number | Html | readonly Content[];

/** Makes HTML of a template. Every value is escaped that is not HTML itself. */
export const html = (strings: TemplateStringsArray, ...values: readonly Content[]): Html => ({
  html: String.raw({ raw: strings }, ...values.map(htmlOf)),
});

function htmlOf(value: Content): string {
  if (typeof value === "object") return "html" in value ? value.html : value.map(htmlOf).join("");
  return String(value).replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);
}

const page = (title: string, content: Html) => html`<!doctype html>
<html lang="en">
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width">
  <title>${title}</title>
  <link rel="icon" href="data:,">
  <style>
    body { font: 1rem/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem }
    ul { padding: 0 }
    li { display: flex; align-items: center; gap: 1rem; margin: .5rem 0 }
    img { width: 4rem; vertical-align: middle }
  </style>
  <body>${content}</body>
</html>`;

interface Named {
  readonly first_name: string;
  readonly last_name: string;
}

const nameOf = ({ first_name, last_name }: Named) => `${first_name} ${last_name}`.trim();

const picture = (url: string | null | undefined) => (url ? html`<img src="${url}" alt="" loading="lazy">` : "");

const works = (count: number) => (count === 1 ? "1 work" : `${count} works`);

export interface People {
  readonly search: string;
  /** From 1. */
  readonly number: number;
  readonly pages: number;
  readonly found: number;
  readonly people: readonly ContributorListItem[];
}

/** A page of the list, with a field to search and links to the pages before and after. */
export function peoplePage({ search, number, pages, found, people }: People): Html {
  const linkTo = (other: number, rel: string, text: string) =>
    html`<a rel="${rel}" href="/?${new URLSearchParams({ search, page: `${other}` }).toString()}">${text}</a>`;
  return page(
    "People",
    html`<h1>People</h1>
    <form><input type="search" name="search" aria-label="Name" value="${search}"> <button>Search</button></form>
    <p>${found} found</p>
    <ul>${people.map(
      (person) => html`
      <li>${picture(person.image)}
        <span><a href="/people/${encodeURIComponent(person.slug ?? "")}">${nameOf(person)}</a>,
        ${works(person.series_count)}</span></li>`,
    )}
    </ul>
    <nav>${number > 1 ? linkTo(number - 1, "prev", "Previous") : ""} Page ${number} of ${pages}
      ${number < pages ? linkTo(number + 1, "next", "Next") : ""}</nav>`,
  );
}

/** A person with descriptions, works and links. */
export const personPage = (person: Contributor, series: readonly Work[]): Html =>
  page(
    nameOf(person),
    html`<p><a href="/">People</a></p>
    <h1>${picture(person.image)} ${nameOf(person)}</h1>
    ${person.aliases.length > 0 ? html`<p>Also ${person.aliases.map(({ name }) => name).join(", ")}</p>` : ""}
    ${person.descriptions
      .filter(({ language }) => language === "English")
      .map(({ description, source }) => html`<p>${description} <small>${source}</small></p>`)}
    <h2>Works</h2>
    <ul>${series.map(
      ({ name, alias, description, volume }) => html`
      <li>${picture(volume?.nsfw ? undefined : volume?.cover_path)}
        <span><b>${name}</b> ${alias === name ? "" : html`(${alias})`} ${description}</span></li>`,
    )}
    </ul>
    ${person.links.map(({ url, domain }) => html`<p><a href="${url}">${domain}</a></p>`)}`,
  );

/** A page with a heading alone. */
export const messagePage = (message: string): Html => page(message, html`<h1>${message}</h1>`);
