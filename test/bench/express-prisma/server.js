import { PrismaPg } from "@prisma/adapter-pg";
import { PrismaClient } from "@prisma/client";
import express from "express";

/* What most people would write for GET /contributor/slug/{slug}. */

const [connectionString, imageBaseUrl] = process.argv.slice(2);
const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString, max: 16 }) });
const app = express();

app.get("/contributor/slug/:slug", async (request, response) => {
  const contributor = await prisma.contributor.findFirst({
    where: { slug: request.params.slug, public: true },
    include: {
      links: { orderBy: { position: "asc" } },
      descriptions: { orderBy: { id: "asc" } },
      aliases: { orderBy: { id: "asc" } },
      relations: { where: { related: { public: true } }, include: { related: true }, orderBy: { id: "asc" } },
    },
  });
  if (!contributor) return response.status(404).json({ error: true, message: "Contributor not found" });
  const { id, firstName, lastName, slug, image, gender, links, descriptions, aliases, relations } = contributor;
  response.json({
    id: Number(id),
    first_name: firstName,
    last_name: lastName ?? "",
    slug,
    image: image && `${imageBaseUrl}/${image}`,
    gender,
    links: links.map(({ url, domain }) => ({ url, domain })),
    descriptions: descriptions.map(({ id, description, language, source }) => ({
      id: Number(id),
      description,
      language,
      source,
    })),
    aliases: aliases.map(({ id, name }) => ({ id: Number(id), name })),
    relations: relations.map(({ id, relationId, relationType, related }) => ({
      id: Number(id),
      relation_id: Number(relationId),
      relation_type: relationType,
      name: [related.firstName, related.lastName].filter((part) => part !== null).join(" "),
      first_name: related.firstName,
      last_name: related.lastName ?? "",
      slug: related.slug,
    })),
  });
});

const server = app.listen(0, "127.0.0.1", () => process.send(server.address().port));
process.once("disconnect", () => process.exit());
