/**
 * Where a key moves what stands at `place`, of which so many fit; not bounded.
 * Undefined for a key that moves nothing.
 */
export function moved(
  key: string,
  place: number,
  page: number
): number | undefined {
  switch (key) {
    case 'up':
    case 'k':
      return place - 1;
    case 'down':
    case 'j':
      return place + 1;
    case 'page-up':
    case 'b':
      return place - page;
    case 'page-down':
    case ' ':
      return place + page;
    case 'home':
    case 'g':
      return 0;
    case 'end':
    case 'G':
      return Number.MAX_SAFE_INTEGER;
    default:
      return undefined;
  }
}

/** The first line to show, moved no further than `place` needs. */
export function windowOf(
  place: number,
  top: number,
  room: number,
  count: number
): number {
  const last = Math.max(0, count - room);
  const least = place - room + 1;
  return Math.max(0, Math.min(Math.max(top, least), Math.max(0, place), last));
}
