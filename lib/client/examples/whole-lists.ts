import { createClient } from "colophon-client";

const colophon = createClient("http://localhost:3000", { credentials: "omit" });

const publishers = await colophon.all("/publishers");
console.log(publishers.length, "publishers");

for await (const page of colophon.pages("/contributors", { query: { client: 1 }, pageSize: 50 }))
  console.log(page.contributors.length, "of", page.max);

const people = await colophon.all("/contributors", { query: { client: 1, include: "slug" } });
const sitemap = people.map(({ slug }) => `https://www.example.com/people/${slug}\n`).join("");
console.log(sitemap.split("\n").length - 1, "lines");
