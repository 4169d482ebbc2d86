import { ago, duration, wholeDuration } from '../format.mjs';
import { now } from '../store.mjs';

/** How long an agent has been at work, or how long it took. */
export function Age({ row }) {
  if (row.seconds !== null && row.seconds !== undefined)
    return duration(row.seconds);
  return wholeDuration((now.value - Date.parse(row.created_at)) / 1000);
}

/** `3 min ago` */
export function Ago({ at }) {
  return ago(at, now.value);
}

/** Shorter silences are usual. */
const quietSeconds = 10;

/** `quiet 12s`, for an agent that has not written for a while. */
export function Quiet({ row }) {
  if (row.heard_at === null || row.status !== 'running') return null;
  const seconds = (now.value - Date.parse(row.heard_at)) / 1000;
  return seconds < quietSeconds ? null : `quiet ${wholeDuration(seconds)}`;
}
