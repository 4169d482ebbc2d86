import { visibleText } from '../../text.ts';
import type { FinishedRecord } from '../journal/journal-record.ts';
import {
  activeStatus,
  type Entry,
  filesSummary,
  markdownLine,
  utc
} from './entry.ts';

/** The number of rows, so that the cost of a rendering has a limit. */
export const mostRows = 50;

/**
 * The table at the top of IAC.md: one row for each of the newest agents. No row
 * begins like an entry or like a row of the table of active agents.
 * @param entries newest first, at most `mostRows`
 * @param agents the number of agents in the journal
 */
export function overviewTable(entries: Entry[], agents: number): string {
  const more = agents - entries.length;
  return [
    '| Time (UTC) | ID | From | Engine | Task | Outcome | Cost | Files |',
    '|------------|----|------|--------|------|---------|------|-------|',
    ...(entries.length > 0
      ? entries.map(rowOf)
      : ['| - | - | - | - | *No agents* | - | - | - |']),
    ...(more > 0 ? ['', `… and ${more} earlier ones`] : [])
  ].join('\n');
}

function rowOf(entry: Entry): string {
  const { spawned, finished, cleanedAt } = entry;
  const { agent_id: id, parent, client, created_at: created } = spawned;
  const cells = [
    utc(created).replace(' UTC', ''),
    finished && !cleanedAt ? `[${id}](agents/${id}.md)` : id,
    parent ? `agent ${cell(parent, 20)}` : cell(client ?? '', 40),
    cell(spawned.label, 40),
    cell(spawned.task, 50),
    finished ? outcomeOf(finished) : activeStatus(entry),
    finished ? costOf(finished) : '',
    finished ? filesSummary(finished) : ''
  ];
  return `| ${cells.map((text) => text || '-').join(' | ')} |`;
}

function outcomeOf({ status, error, duration_ms }: FinishedRecord): string {
  const cause = status === 'failed' && error ? `: ${cell(error, 40)}` : '';
  return `${words[status]}${cause} ${(duration_ms / 1000).toFixed(1)}s`;
}

const words: Record<FinishedRecord['status'], string> = {
  completed: 'done',
  failed: 'failed',
  timeout: 'timed out',
  canceled: 'canceled',
  interrupted: 'interrupted'
};

function costOf({ cost_usd: cost }: FinishedRecord): string {
  return cost === null ? 'unknown' : `$${cost.toFixed(4)}`;
}

/** Text for one cell, with its control characters visible. */
function cell(text: string, maximumChars: number): string {
  return markdownLine(visibleText(text), maximumChars);
}
