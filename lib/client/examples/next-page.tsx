// app/people/[slug]/page.tsx
import { createClient } from "colophon-client";
import { notFound } from "next/navigation";

const colophon = createClient("http://localhost:3000", { credentials: "omit" });

/** Next.js keeps the page for so many seconds. */
export const revalidate = 60;

export default async function Person({ params }: { params: Promise<{ slug: string }> }) {
  const query = { client: 1, include: "works" } as const;
  const { data: person, error } = await colophon.GET("/contributor/slug/{slug}", { path: await params, query });
  if (error?.code === 404) notFound();
  if (error) throw new Error(error.data);
  return (
    <main>
      <h1>{`${person.first_name} ${person.last_name}`.trim()}</h1>
      <ul>
        {person.works.map(({ id, name, description }) => (
          <li key={id}>
            <b>{name}</b> {description}
          </li>
        ))}
      </ul>
    </main>
  );
}
