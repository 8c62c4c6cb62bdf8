import { createServer } from "node:http";
import { listenToClients } from "../../infra/aws-local/http/listen.ts";

export interface FakeDistribution {
  readonly id: string;
  readonly comment: string;
  aliases: string[];
}

/** CloudFront's distributions and their aliases on this machine, for the real SDK. */
export interface Distributions {
  /** For `AWS_ENDPOINT_URL_CLOUDFRONT`. */
  readonly url: string;
  readonly account: { id: string };
  readonly all: FakeDistribution[];
  /** TXT records in DNS by name, by which CloudFront knows whose a domain is. */
  readonly records: Map<string, string>;
  /** The aliases that moved: `api.example.com to E2`. */
  readonly moves: string[];
  close(): Promise<void>;
}

export const addressOf = (id: string) => `${id.toLowerCase()}.cloudfront.net`;

/** Starts it. It lists one distribution at a time. */
export async function startDistributions(): Promise<Distributions> {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
    const [, id, isMove] = /^\/2020-05-31\/distribution(?:\/(\w+)(\/associate-alias))?$/.exec(pathname) ?? [];
    response.setHeader("Content-Type", "text/xml");
    if (request.method === "GET") return response.end(listFrom(Number(searchParams.get("Marker") ?? 0)));
    const refusal = isMove ? move(id ?? "", searchParams.get("Alias") ?? "") : "NoSuchResource";
    if (!refusal) return response.end();
    response.writeHead(400);
    return response.end(
      `<ErrorResponse><Error><Code>${refusal}</Code><Message>${refusal}</Message></Error></ErrorResponse>`,
    );
  });

  const move = (id: string, alias: string): string | undefined => {
    const target = state.all.find((each) => each.id === id);
    if (!target) return "NoSuchDistribution";
    if (state.records.get(`_${alias}`) !== addressOf(id)) return "InvalidArgument";
    for (const each of state.all) each.aliases = each.aliases.filter((name) => name !== alias);
    target.aliases.push(alias);
    state.moves.push(`${alias} to ${id}`);
    return undefined;
  };

  const listFrom = (index: number): string => {
    const { id, comment, aliases } = state.all[index] ?? { id: "", comment: "", aliases: [] };
    const names = aliases.map((each) => `<CNAME>${each}</CNAME>`).join("");
    const isLast = index + 1 >= state.all.length;
    const arn = `arn:aws:cloudfront::${state.account.id}:distribution/${id}`;
    return (
      `<DistributionList><Marker>${index}</Marker><MaxItems>1</MaxItems><IsTruncated>${!isLast}</IsTruncated>` +
      `${isLast ? "" : `<NextMarker>${index + 1}</NextMarker>`}<Quantity>1</Quantity><Items>` +
      `<DistributionSummary><Id>${id}</Id><ARN>${arn}</ARN><DomainName>${addressOf(id)}</DomainName>` +
      `<Aliases><Quantity>${aliases.length}</Quantity><Items>${names}</Items></Aliases><Comment>${comment}</Comment>` +
      "</DistributionSummary></Items></DistributionList>"
    );
  };

  const state: Distributions = {
    ...(await listenToClients(server)),
    account: { id: "" },
    all: [],
    records: new Map(),
    moves: [],
  };
  return state;
}
