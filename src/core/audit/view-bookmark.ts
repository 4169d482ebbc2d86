import type { RecordIdentity } from '../paths/identity.ts';
import { tailOf } from '../state/text-file.ts';
import { isSamePlace, type JournalFile } from './journal-files.ts';
import type { Bookmark } from './journal-window.ts';
import { isOwnView } from './view-file.ts';

/** What IAC.md says of itself in its last line. */
export interface ViewBookmark extends Bookmark {
  /** Ordinal of the oldest entry in IAC.md; those before are archived. */
  shownFrom: number;
}

/** More than a last line can have. */
export const footerBytes = 200;

export function footer(bookmark: ViewBookmark): string {
  const { offset, spawns, shownFrom, base } = bookmark;
  return `<!-- troupe: journal ${offset} bytes, ${spawns} spawns, shown from ${shownFrom}, base ${base} -->`;
}

/**
 * The journal's files, and what the view of this record shows of them. The
 * view is read before they are listed: another server may write both.
 */
export function shownIn(
  viewPath: string,
  identity: RecordIdentity,
  listed: () => JournalFile[]
) {
  const isOurs = isOwnView(viewPath, identity);
  const last = isOurs ? tailOf(viewPath, footerBytes) : '';
  const list = listed();
  return { list, bookmark: bookmarkIn(last, list) };
}

/** Undefined when the view shows another journal, or this one as it was. */
function bookmarkIn(
  footer: string,
  list: JournalFile[]
): ViewBookmark | undefined {
  const found =
    /<!-- troupe: journal (\d+) bytes, (\d+) spawns, shown from (\d+)(?:, base (\d+))? -->\n$/.exec(
      footer
    );
  if (!found) return undefined;
  const [offset = 0, spawns = 0, shownFrom = 0, base = 0] = found
    .slice(1)
    .map((digits) => Number(digits ?? 0));
  const bookmark = { offset, spawns, shownFrom, base };
  // Who knows of no segments counts from the current file on.
  const isCounted = found[4] !== undefined || list.length === 1;
  return isCounted && isSamePlace(list, bookmark) ? bookmark : undefined;
}
