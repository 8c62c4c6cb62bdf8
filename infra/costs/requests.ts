/** What is assumed of every request and database, where no setting says it. */
export const assumptions = {
  hours: { value: 730, unit: "h", what: "a month" },
  dataApiCall: { value: 17, unit: "ms", what: "a call of the Data API (measured by others, us-east-1, Aurora 17.9)" },
  coldStart: { value: 300, unit: "ms", what: "a cold start, which Lambda bills since August 2025" },
  coldShare: { value: 0.01, unit: "", what: "of all requests meet a cold start" },
  stream: { value: 2, unit: "MB/s", what: "a stream beyond its first 6 MB, at most (Lambda, quotas)" },
  log: { value: 1.2, unit: "KB", what: "logs of a request: ours, Lambda's own three lines, API Gateway's" },
  traced: { value: 0.05, unit: "", what: "of all requests, by the stage's sampling rule" },
  storage: { value: 10, unit: "GB", what: "the database" },
  changed: { value: 0.01, unit: "", what: "of the database changes in a day" },
  imageKept: { value: 165, unit: "KB", what: "both sizes of an image" },
  imageSent: { value: 60, unit: "KB", what: "an image as pages show it" },
} as const;

/** A kind of request, and what one of it takes. */
export interface RequestKind {
  readonly name: string;
  /** Statements, each a call of the Data API. */
  readonly calls: number;
  /** Of a call, its answer included. */
  readonly callKilobytes: number;
  /** Of one whole vCPU. */
  readonly cpuMilliseconds: number;
  /** For anything else than the Data API. */
  readonly waitMilliseconds: number;
  readonly requestKilobytes: number;
  /** Not compressed; most clients ask for less. */
  readonly answerKilobytes: number;
  /** Of Aurora's storage; nobody has counted them. */
  readonly writes: number;
  readonly isImage?: true;
}

const usual = { calls: 1, callKilobytes: 6, cpuMilliseconds: 5, waitMilliseconds: 0, requestKilobytes: 1, writes: 0 };

/** Times by `npm run bench` on a Xeon of two cores; sizes by the demo data and 20,000 made-up contributors. */
export const requestKinds: readonly RequestKind[] = [
  { ...usual, name: "list, a page of 50", callKilobytes: 16, cpuMilliseconds: 7, answerKilobytes: 10 },
  { ...usual, name: "record", answerKilobytes: 1 },
  { ...usual, name: "change", answerKilobytes: 0.3, writes: 5 },
  {
    name: "image, from a photograph of 12 megapixels",
    calls: 2,
    callKilobytes: 6,
    cpuMilliseconds: 200,
    waitMilliseconds: 100,
    requestKilobytes: 2_000,
    answerKilobytes: 0.3,
    writes: 10,
    isImage: true,
  },
  {
    ...usual,
    name: "whole list of 200,000 contributors",
    calls: 100,
    callKilobytes: 450,
    cpuMilliseconds: 2_000,
    answerKilobytes: 39_000,
  },
];
