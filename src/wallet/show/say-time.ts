const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const MINUTE_SECONDS = 60;
const HOUR_SECONDS = 3_600;

/** The time of day where the reader is. */
export function sayClock(ms: number): string {
  return CLOCK.format(ms);
}

/** `7 s`, `2 min`, `1 min 20 s`, `1 h 5 min`. */
export function sayDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < MINUTE_SECONDS) return `${seconds} s`;
  if (seconds < HOUR_SECONDS) return join(Math.floor(seconds / MINUTE_SECONDS), 'min', seconds % MINUTE_SECONDS, 's');
  const minutes = Math.floor(seconds / MINUTE_SECONDS);
  return join(Math.floor(minutes / MINUTE_SECONDS), 'h', minutes % MINUTE_SECONDS, 'min');
}

function join(many: number, unit: string, rest: number, smaller: string): string {
  return rest === 0 ? `${many} ${unit}` : `${many} ${unit} ${rest} ${smaller}`;
}

/** A guess in words that do not pretend to be exact. */
export function sayEstimate(ms: number): string {
  if (ms < 15_000) return 'a few seconds';
  if (ms < 90_000) return 'about a minute';
  return `about ${Math.round(ms / 60_000)} minutes`;
}
