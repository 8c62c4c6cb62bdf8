import { QueryClient } from "@tanstack/react-query";
import { createClient } from "colophon-client";

const colophon = createClient("http://localhost:3000");
const queries = new QueryClient();

// In a component: useQuery(colophon.queryOptions(…))
const search = { client: 1, search: "urasawa" };
const { contributors } = await queries.fetchQuery(colophon.queryOptions("/admin-contributors", { query: search }));
console.log(contributors.map(({ last_name }) => last_name));

// After a change, all queries of these.
await queries.invalidateQueries({ queryKey: ["/admin-contributors"] });
