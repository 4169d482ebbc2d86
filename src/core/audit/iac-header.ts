import { type ActiveAgent, activeTable } from './context-view.ts';
import { utc } from './entry.ts';
import { viewMark } from './view-file.ts';

/** What stands above the entries of IAC.md. */
export function headerOf({
  active,
  today,
  maximumEntries,
  now
}: {
  active: ActiveAgent[];
  /** The table of the day's totals. */
  today: string;
  maximumEntries: number;
  now: Date;
}): string {
  return [
    '# Inter-Agent Communication (IAC)',
    '',
    `${viewMark} from \`iac.jsonl\`; changes made here are lost.`,
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
