import { expect, it } from "vitest";
import { settings } from "../../../infra/settings/settings.ts";
import { cdnRequestsAnHour, requestsIn5Minutes } from "../../../infra/settings/traffic.ts";

const { edge } = settings.stages.find((each) => each.edge) ?? {};

it.each([
  [1, undefined, 13_699, 10_000],
  [100, undefined, 1_369_863, 114_155],
  [100, edge, 1_369_863, 11_416],
  [1_000, edge, 13_698_630, 114_155],
])(
  "For %d M requests a month, edge %j, alarms fire at %i an hour at CloudFront and %i in five minutes at the API",
  (millionRequestsAMonth, its, anHour, in5Minutes) => {
    const stage = { millionRequestsAMonth, edge: its };
    expect([cdnRequestsAnHour(stage), requestsIn5Minutes(stage)]).toEqual([anHour, in5Minutes]);
  },
);
