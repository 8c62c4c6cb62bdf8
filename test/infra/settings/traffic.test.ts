import { expect, it } from "vitest";
import { settings } from "../../../infra/settings/settings.ts";
import { cdnRequestsAnHour, requestsIn5Minutes } from "../../../infra/settings/traffic.ts";

const { edge } = settings.stages.find((each) => each.edge) ?? {};

it.each([
  { million: 1, where: "without an edge", its: undefined, anHour: 13_699, in5Minutes: 10_000 },
  { million: 100, where: "without an edge", its: undefined, anHour: 1_369_863, in5Minutes: 114_155 },
  { million: 100, where: "behind an edge", its: edge, anHour: 1_369_863, in5Minutes: 11_416 },
  { million: 1_000, where: "behind an edge", its: edge, anHour: 13_698_630, in5Minutes: 114_155 },
])(
  "Of $million M requests a month $where, alarms fire at $anHour an hour at CloudFront and $in5Minutes at the API",
  ({ million, its, anHour, in5Minutes }) => {
    const stage = { millionRequestsAMonth: million, edge: its };

    expect(cdnRequestsAnHour(stage)).toBe(anHour);
    expect(requestsIn5Minutes(stage)).toBe(in5Minutes);
  },
);
