/** At this hour (UTC) the nightly backup begins that is copied to another region. */
export const copyHour = 2;

const days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const minutesADay = 24 * 60;
const minutesAWeek = days.length * minutesADay;

/** Two windows of each week, in minutes. */
interface Window {
  readonly start: number;
  readonly length: number;
}

/** `02:00-02:30`: on each day. */
const dailyWindows = (text: string): Window[] => days.map((day) => windowOf(...bothEnds(text, `${day}:`)));

/** `sun:04:30-sun:05:00`, which may end on the next day. */
const weeklyWindow = (text: string): Window => windowOf(...bothEnds(text, ""));

const bothEnds = (text: string, day: string): [number, number] => {
  const [start = "", end = ""] = text.split("-").map((each) => day + each);
  const startsAt = minuteOf(start);
  const endsAt = minuteOf(end);
  return [startsAt, day && endsAt <= startsAt ? endsAt + minutesADay : endsAt];
};

function minuteOf(time: string): number {
  const [day = "", hour, minute] = time.split(":");
  return days.indexOf(day) * minutesADay + Number(hour) * 60 + Number(minute);
}

const windowOf = (start: number, end: number): Window => ({
  start,
  length: (end - start + minutesAWeek) % minutesAWeek,
});

const overlap = (one: Window, other: Window) =>
  (other.start - one.start + minutesAWeek) % minutesAWeek < one.length ||
  (one.start - other.start + minutesAWeek) % minutesAWeek < other.length;

/** AWS refuses two windows that overlap. */
export const windowsCollide = (backup: string, maintenance: string): boolean =>
  dailyWindows(backup).some((each) => overlap(each, weeklyWindow(maintenance)));

/** A backup of AWS Backup fails in a window of the database, and in the hour before one. */
export function copyCollides(backup: string, maintenance: string): boolean {
  const copies = dailyWindows(`${clock(copyHour)}-${clock(copyHour + 1)}`);
  return [...dailyWindows(backup), weeklyWindow(maintenance)].some((each) =>
    copies.some((copy) => overlap(copy, each)),
  );
}

const clock = (hour: number) => `${String(hour).padStart(2, "0")}:00`;
