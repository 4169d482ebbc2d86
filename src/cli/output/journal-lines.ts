import type { JournalFiles } from '../../core/audit/journal/journal-files.ts';
import {
  JournalReader,
  readBack
} from '../../core/audit/journal/journal-reader.ts';
import {
  holdsRecord,
  type JournalRecord,
  parseRecord,
  reasonOf
} from '../../core/audit/journal/journal-record.ts';
import { utc } from '../../core/audit/views/entry.ts';
import type { Host } from '../../host/host.ts';
import { colorsFor, statusColor } from './output.ts';
import { alignedRows, type Cell, type Column, table } from './table.ts';
import { amount, dollars, duration } from './text.ts';

/** `padTo` aligns these lines with lines that are printed later. */
const shownColumns: Column[] = [
  { heading: 'TIME (UTC)', padTo: 19 },
  { heading: 'EVENT', padTo: 9 },
  { heading: 'AGENT', padTo: 8 },
  { heading: 'ENGINE', padTo: 12, minWidth: 8, dropOrder: 1 },
  { heading: 'WHAT', minWidth: 14 }
];

type Stored = Pick<Host, 'store'>;

/** Lines of the journal as a table. */
export function logTable(host: Stored, lines: string[]): string {
  return table(shownColumns, rowsOf(host, lines));
}

/** Lines of the journal as a table without headings. */
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
    // The heading has the time zone.
    utc(record.at).replace(' UTC', ''),
    eventOf(record),
    record.agent_id,
    engineOf(record.agent_id),
    whatOf(record)
  ];
}

/** A record of a later version, or a foreign line. */
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
    case 'asked':
    case 'answered':
    case 'acted':
      return record.type;
    case 'cleaned':
      return { text: 'cleaned', color: colors.dim };
    case 'finished':
      return { text: record.status, color: statusColor(colors, record.status) };
  }
}

/** The event of a record in a word: `spawned`, `cancel`, `failed`. */
export function eventNameOf(record: JournalRecord): string {
  const event = eventOf(record);
  return typeof event === 'string' ? event : event.text;
}

export function whatOf(record: JournalRecord): string {
  switch (record.type) {
    case 'spawned':
      return record.task;
    case 'cancel_requested':
      return reasonOf(record, '(no reason given)');
    case 'asked':
      return `${record.ask_id} ${record.tool}: ${record.subject}`;
    case 'answered': {
      const { ask_id: id, by, who, decision, text } = record;
      const what = [decision, text].filter(Boolean).join(': ') || 'no answer';
      const whom = who === undefined ? by : `${by} (${who})`;
      return `${id} ${what}, by ${whom} after ${duration(record.waited_ms / 1000)}`;
    }
    case 'acted':
      return `${record.action}: ${record.what}, ${record.who}`;
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

/** The last lines of the journal, and a way to follow it. */
interface LastLines {
  lines: string[];
  /** Returns the lines that were added since the last call. */
  newLines: () => Promise<string[]>;
}

/**
 * The last records of the journal as stored, oldest first, read from its end.
 * Lines that a killed writer left torn are skipped.
 */
export function lastLines(files: JournalFiles, count: number): LastLines {
  const newestFirst: string[] = [];
  let reader = readBack(files, (block) => {
    newestFirst.push(...block.filter(holdsRecord).reverse());
    return newestFirst.length >= count;
  });
  return {
    lines: newestFirst.slice(0, count).reverse(),
    newLines: async () => {
      const fresh: string[] = [];
      const isSame = await reader.read((line) => {
        if (holdsRecord(line)) fresh.push(line);
      });
      // The journal was replaced: the next call begins with its first record.
      if (!isSame) reader = new JournalReader(files);
      return fresh;
    }
  };
}
