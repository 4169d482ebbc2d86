import { type ActiveAgent, activeTable } from './context-view.ts';
import { utc } from './entry.ts';

/** What stands above the entries of IAC.md. */
export function headerOf({
  active,
  today,
  maximumEntries,
  now,
  mark
}: {
  active: ActiveAgent[];
  /** The table of the day's totals. */
  today: string;
  maximumEntries: number;
  now: Date;
  /** Names the record it is made from. */
  mark: string;
}): string {
  return [
    '# Inter-Agent Communication (IAC)',
    '',
    mark,
    '',
    `**Last updated:** ${utc(now.toISOString())}`,
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
