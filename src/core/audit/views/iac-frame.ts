import type { RecordIdentity } from '../../paths/records.ts';
import { KnownFiles } from '../../state/files/known-files.ts';
import { tailOf } from '../../state/files/text-file.ts';
import { isValidPosition, type JournalFile } from '../journal/journal-files.ts';
import { type ActiveAgent, activeTable } from './context-view.ts';
import { utc } from './entry.ts';
import type { Bookmark } from './journal-window.ts';
import { isOwnView } from './view-file.ts';

/** The part of IAC.md above the entries. */
export function headerOf({
  overview,
  active,
  today,
  maximumEntries,
  now,
  mark
}: {
  /** The table of the newest agents; see `overviewTable`. */
  overview: string;
  active: ActiveAgent[];
  /** The table of today's totals. */
  today: string;
  maximumEntries: number;
  now: Date;
  /** The line that names the record of the view; see `markOf`. */
  mark: string;
}): string {
  return [
    '# Inter-Agent Communication (IAC)',
    '',
    mark,
    '',
    `**Last updated:** ${utc(now.toISOString())}`,
    '',
    '## Agents',
    '',
    overview,
    '',
    '## Today',
    '',
    today,
    '',
    '## Active Agents',
    '',
    activeTable(active),
    '',
    '---',
    '',
    '## History',
    '',
    `> Newest first, at most ${maximumEntries}; older ones are in \`archive/\`.`,
    '',
    '---',
    '',
    ''
  ].join('\n');
}

/** The content of the footer of IAC.md: how much of the journal it shows. */
export interface ViewBookmark extends Bookmark {
  /** The ordinal of the oldest entry in IAC.md; earlier ones are archived. */
  shownFrom: number;
}

/** An upper bound for the size of the footer. */
export const footerBytes = 200;

export function footer(bookmark: ViewBookmark): string {
  const { offset, spawns, shownFrom, base, mark } = bookmark;
  return `<!-- troupe: journal ${offset} bytes, ${spawns} spawns, shown from ${shownFrom}, base ${base}, mark ${mark} -->`;
}

/** Each call of `list` and each round of a server asks for the footer. */
const footers = new KnownFiles<string>(2);

/**
 * Lists the journal's files and reads the bookmark of a view of this record.
 * The caller must check the bookmark's mark, because it may belong to another
 * journal. The view is read before the files are listed, because another server
 * may write to both in between.
 */
export function shownIn(
  viewPath: string,
  identity: RecordIdentity,
  listed: () => JournalFile[]
) {
  const isOwn = isOwnView(viewPath, identity);
  const last = isOwn
    ? footers.read(viewPath, () => tailOf(viewPath, footerBytes))
    : '';
  const list = listed();
  return { list, bookmark: bookmarkIn(last, list) };
}

/** Undefined when the position does not exist in this journal. */
function bookmarkIn(
  footer: string,
  list: JournalFile[]
): ViewBookmark | undefined {
  const [, ...numbers] =
    /<!-- troupe: journal (\d+) bytes, (\d+) spawns, shown from (\d+), base (\d+), mark ([0-9a-z]+) -->\n$/.exec(
      footer
    ) ?? [];
  const mark = numbers.pop();
  if (mark === undefined) return undefined;
  const [offset = 0, spawns = 0, shownFrom = 0, base = 0] = numbers.map(Number);
  const bookmark = { offset, spawns, shownFrom, base, mark };
  return isValidPosition(list, bookmark) ? bookmark : undefined;
}
