import { hash } from "node:crypto";
import type { ReadResponse } from "./site.ts";

/** In milliseconds, by a clock that does not go on while this process stands still. */
export type Time = number;

/** From when on and until when a response may be old; of all URLs, or of one. */
export interface Excuse {
  readonly from: Time;
  to: Time;
  readonly url?: string;
}

interface Observation {
  readonly url: string;
  readonly from: Time;
  readonly to: Time;
  readonly what: string;
}

/**
 * Judges what visitors read by what the origin said: a response is late for as long as something else had been heard of
 * its URL when it was sent for, and itself never since. So the origin must be asked, too, that long before a read.
 */
export function openWitness() {
  const heard = new Map<string, Observation[]>();
  const reads: Observation[] = [];
  const excuses: Excuse[] = [];

  /** When an observation begins to count. */
  const countsFrom = (url: string, time: Time): Time => {
    const isIn = (excuse: Excuse) => excuse.from <= time && time < excuse.to && (excuse.url ?? url) === url;
    const ends = excuses.filter(isIn).map(({ to }) => to);
    return ends.length > 0 ? countsFrom(url, Math.max(...ends)) : time;
  };

  const lateness = ({ url, from, to, what }: Observation): number => {
    const known = (heard.get(url) ?? []).filter((each) => each.from <= to);
    const last = Math.max(...known.filter((each) => each.what === what).map((each) => each.to));
    const others = known.filter((each) => each.what !== what && each.from > last);
    return Math.max(0, ...others.map((each) => from - countsFrom(url, each.to)));
  };

  return {
    /** What the origin says about a URL, to somebody who asked `from` and knew it at `to`. */
    hear(url: string, response: ReadResponse, from: Time, to: Time): void {
      const known = heard.get(url) ?? [];
      heard.set(url, known);
      known.push({ url, from, to, what: digest(response) });
    },
    /** What a visitor reads. */
    read: (url: string, response: ReadResponse, from: Time, to: Time) =>
      void reads.push({ url, from, to, what: digest(response) }),
    excuse(excuse: Excuse): Excuse {
      excuses.push(excuse);
      return excuse;
    },
    reads,
    /** The responses that were not what the origin said last, and for how long it had been saying something else. */
    late: () =>
      reads
        .map((read) => ({ url: read.url, readAt: read.from, milliseconds: lateness(read) }))
        .filter(({ milliseconds }) => milliseconds > 0),
  };
}

const digest = ({ status, text }: ReadResponse) => `${status} ${hash("sha1", text)}`;
