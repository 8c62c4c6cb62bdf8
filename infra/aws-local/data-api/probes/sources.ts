/** Where a probe's expectation comes from. */

/** No recording is known: this is our reading of the documents. */
export const unproved = "unproved";

const guide = (page: string) => `AWS, https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/${page}.html`;
export const operations = guide("data-api-operations");
export const limitations = guide("data-api.limitations");
export const differences = guide("data-api.differences");
export const troubleshooting = guide("data-api.troubleshooting");

const reference = (page: string) => `AWS, https://docs.aws.amazon.com/rdsdataservice/latest/APIReference/${page}.html`;
export const executeStatement = reference("API_ExecuteStatement");
export const beginTransaction = reference("API_BeginTransaction");
/** The lengths are the model's, the texts those of AWS's services of this protocol. */
export const model = "AWS, https://github.com/boto/botocore/tree/1.43.107/botocore/data/rds-data/2018-08-01";

const live = (repository: string, file: string) => `recorded, https://github.com/${repository} ${file}`;
const proxy = (file: string) => live("tmokmss/aurora-data-api-proxy", `${file} (Aurora PostgreSQL 17.9, 2026)`);
export const proxyNotes = proxy("COMPATIBILITY.md");
export const proxyTypes = proxy("src/types.rs");
export const proxyErrors = proxy("src/dataapi.rs");
export const proxySql = proxy("src/sql.rs");
const dylan = (file: string) => live("dylanmoring/aurora-data-api", `${file} (Aurora PostgreSQL 16, 2026-06)`);
export const dylanFindings = dylan("test/BASELINE-FINDINGS.md");
export const dylanTypes = dylan("test/test_types.py");
export const dylanSkips = dylan("the inventory of skipped tests");
export const clientTests = live("jeremydaly/data-api-client", "@24d98ed integration-tests/postgres.int.test.ts");
export const clientReadme = live("jeremydaly/data-api-client", "@24d98ed README.md");
export const pythonClient = live("cloud-utils/aurora-data-api", "test/test.py, issue 53");
export const kyselyClient = live("sst/kysely-data-api", "test");
export const flociTests = live("floci-io/floci", "RdsDataServiceTest (Aurora PostgreSQL 17.7, 2026-09-13)");
export const flociTypes = live("floci-io/floci", "RdsDataFieldMapper.java");
export const ez4 = live("sbalmt/ez4", "the tests of its Data API client");
/** Whether these were recorded is not said there. */
export const blocks = "AWS, fixtures of https://github.com/aws-devtools-labs/aws-blocks packages/bb-data";
export const drizzle = (issue: number) => `recorded, https://github.com/drizzle-team/drizzle-orm/issues/${issue}`;
export const drizzleIntrospection = `${drizzle(2982)} and its reproduction (Aurora PostgreSQL 15.12)`;
export const vump = "recorded, ADR 46 of VUMP";
/** PostgreSQL does it, and the service passes it on. */
export const postgres = "https://www.postgresql.org/docs/17/";
