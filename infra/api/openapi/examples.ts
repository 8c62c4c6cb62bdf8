import type { Answer, AnswerName } from "../../../lib/contract/declare.ts";

const viewing = { id: 12, name: "view-contributors", description: "See contributors, unpublished ones included" };
const adding = { id: 13, name: "add-contributors", description: "Add contributors" };
const editing = { id: 14, name: "edit-contributors", description: "Edit contributors and their avatars" };
const editor = { id: 3, name: "Editor", description: "Adds contributors and keeps them up to date" };
const moderator = { id: 4, name: "Moderator", description: "Looks after the accounts of users" };
const link = { url: "https://en.wikipedia.org/wiki/Naoki_Urasawa", domain: "en.wikipedia.org" };
const source = "Wikipedia";
const descriptions = [
  {
    id: 9,
    description:
      "Manga artist known for the thrillers Monster and 20th Century Boys and for Pluto, his retelling of an Astro Boy story.",
    language: "English",
    source,
  },
  {
    id: 10,
    description: "Mangaka, bekannt für die Thriller Monster und 20th Century Boys sowie für Pluto.",
    language: "German",
    source,
  },
  {
    id: 11,
    description: "『MONSTER』『20世紀少年』『PLUTO』などで知られる漫画家。",
    language: "Japanese",
    source,
  },
];
const alias = { id: 4, name: "浦沢直樹" };
const relation = {
  id: 5,
  relation_id: 6,
  relation_type: "collaborator",
  name: "Takashi Nagasaki",
  first_name: "Takashi",
  last_name: "Nagasaki",
  slug: "takashi-nagasaki",
};
const urasawa = { id: 5, first_name: "Naoki", last_name: "Urasawa" };
const work = {
  id: 16,
  name: "20th Century Boys",
  slug: "20th-century-boys",
  type: "manga",
  origin: "Japan",
  alias: "20th Century Boys",
  description: "A cult leader carries out the end of the world that a group of friends made up as children.",
  tags: [
    { id: 21, name: "mystery" },
    { id: 30, name: "science fiction" },
    { id: 36, name: "thriller" },
  ],
  volume: {
    id: 46,
    cover_path: "https://images.example.com/covers/20th-century-boys-1.webp",
    aspect_ratio: 0.7,
    nsfw: 0,
    nsfw18: 0,
  },
} satisfies Answer<"Work">;

/** A record of the demo data for each kind of answer, while two people are editing. */
export const examples: { readonly [Name in Exclude<AnswerName, "Envelope">]: Answer<Name> } = {
  Slug: "naoki-urasawa",
  Permission: viewing,
  RoleListItem: { ...editor, permission_count: 3, user_count: 4 },
  Role: { ...editor, is_default: 0, permissions: [viewing, adding, editing] },
  UserListItem: {
    id: 4,
    slug: "marginalia",
    username: "Marginalia",
    age_verified: true,
    profile_image: "",
    registered: "2024-03-11T19:42:00.000Z",
    roles: [editor, moderator],
    lock: { id: 1, username: "administrator" },
  },
  User: {
    id: 4,
    slug: "marginalia",
    username: "Marginalia",
    profile_image: null,
    registered: "2024-03-11T19:42:00.000Z",
    age_verified: true,
    logged_in: false,
    roles: [editor, moderator],
  },
  AdminContributorListItem: {
    ...urasawa,
    slug: "naoki-urasawa",
    image: "",
    locked_by: { id: 2, username: "editor" },
  },
  AdminContributor: {
    ...urasawa,
    slug: "naoki-urasawa",
    image: "",
    gender: "male",
    links: [link],
    aliases: [alias],
    descriptions,
    relations: [relation],
  },
  ContributorListItem: {
    ...urasawa,
    image: null,
    gender: "male",
    series_count: 5,
    random_series: { name: "Billy Bat", slug: "billy-bat" },
  },
  Contributor: {
    ...urasawa,
    slug: "naoki-urasawa",
    image: null,
    gender: "male",
    links: [link],
    descriptions,
    aliases: [alias],
    relations: [relation],
  },
  PublisherListItem: {
    id: 1,
    name: "Kodansha",
    "short-name": "Kodansha",
    slug: "kodansha",
    country: "Japan",
    website: "https://www.kodansha.co.jp",
    headquarter: "Tokyo",
    series_count: 27,
    founding_date: "1909-01-01",
    image: "",
    image_source: "",
  },
  Publisher: {
    id: 1,
    name: "Kodansha",
    slug: "kodansha",
    image: "",
    website: "https://www.kodansha.co.jp",
    domain: "kodansha.co.jp",
    country: "Japan",
    descriptions: [
      {
        id: 1,
        description:
          "One of the largest publishers of Japan, which publishes the magazines Nakayoshi and Weekly Shōnen Magazine.",
        language: "English",
        source,
      },
      { id: 2, description: "Einer der größten Verlage Japans.", language: "German", source },
      {
        id: 3,
        description: "『週刊少年マガジン』『なかよし』などを発行する日本の出版社。",
        language: "Japanese",
        source,
      },
    ],
    aliases: [{ id: 1, title: "講談社", language: "Japanese" }],
    relations: [],
  },
  Work: work,
  Publication: { ...work, aliases: [{ id: 26, name: "20世紀少年", language: "Japanese" }] },
};

/** A picture of one pixel. */
export const imageExample =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
