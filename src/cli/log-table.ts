import { utc } from '../core/audit/entry.ts';
import type { JournalRecord } from '../core/audit/journal.ts';
import { parseRecord } from '../core/audit/parse-record.ts';
import type { Host } from '../host.ts';
import { amount } from './amounts.ts';
import { colorsFor, statusColor } from './output.ts';
import { alignedRows, type Cell, type Column, table } from './table.ts';
import { dollars, duration } from './text.ts';

/** With widths, so that lines that are followed stay aligned. */
const shownColumns: Column[] = [
  { heading: 'TIME (UTC)', minimum: 19 },
  { heading: 'EVENT', minimum: 9 },
  { heading: 'AGENT', minimum: 8 },
  { heading: 'ENGINE', minimum: 12, least: 8, goes: 1 },
  { heading: 'WHAT', least: 14 }
];

type Stored = Pick<Host, 'store'>;

/** Lines of the journal as a table for people. */
export function logTable(host: Stored, lines: string[]): string {
  return table(shownColumns, rowsOf(host, lines));
}

/** The same without heading. */
export function logLines(host: Stored, lines: string[]): string {
  return alignedRows(shownColumns, rowsOf(host, lines));
}

function rowsOf({ store }: Stored, lines: string[]): Cell[][] {
  const records = lines.map(parseRecord);
  const spawned = new Map(
    records.flatMap((record) =>
      record?.type === 'spawned' ? [[record.agent_id, record.engine]] : []
    )
  );
  const engineOf = (id: string) =>
    spawned.get(id) ?? store.recordOf(id)?.engine ?? '-';
  return records.map((record, index) =>
    record ? rowOf(record, engineOf) : unknownRow(lines[index] ?? '')
  );
}

function rowOf(
  record: JournalRecord,
  engineOf: (agentId: string) => string
): Cell[] {
  return [
    // The heading says of what zone.
    utc(record.at).replace(' UTC', ''),
    eventOf(record),
    record.agent_id,
    engineOf(record.agent_id),
    whatOf(record)
  ];
}

/** Of a kind that a later version knows. */
function unknownRow(line: string): Cell[] {
  return ['-', '?', '-', '-', line];
}

function eventOf(record: JournalRecord): Cell {
  const colors = colorsFor(process.stdout);
  switch (record.type) {
    case 'spawned':
      return 'spawned';
    case 'cancel_requested':
      return { text: 'cancel', color: colors.dim };
    case 'cleaned':
      return { text: 'cleaned', color: colors.dim };
    case 'finished':
      return { text: record.status, color: statusColor(colors, record.status) };
  }
}

function whatOf(record: JournalRecord): string {
  switch (record.type) {
    case 'spawned':
      return record.task;
    case 'cancel_requested':
      return record.reason ?? '(no reason given)';
    case 'cleaned':
      return `${amount(record.bytes)} removed from the record`;
    case 'finished': {
      const seconds = duration(record.duration_ms / 1000);
      const effort = [seconds, dollars(record.cost_usd)].filter(Boolean);
      const error = record.error === null ? '' : `: ${record.error}`;
      return `${effort.join(', ')}${error}`;
    }
  }
}
