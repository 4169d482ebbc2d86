import { z } from 'zod';
import { utc } from '../core/audit/entry.ts';
import type { Host } from '../host.ts';
import { colorsFor, statusColor } from './output.ts';
import { type Cell, columns } from './table.ts';
import { dollars, duration, oneLine } from './text.ts';

/** The same for every batch, so that followed lines stay aligned. */
const widths = [23, 9, 8, 12];
const heading = ['TIME', 'EVENT', 'AGENT', 'ENGINE', 'WHAT'];

const basics = { at: z.iso.datetime(), agent_id: z.string() };
const status = z.enum([
  'completed',
  'failed',
  'timeout',
  'canceled',
  'interrupted'
]);

/** What the table shows of a record. Anybody may have edited the file. */
const shownRecord = z.discriminatedUnion('type', [
  z.object({
    ...basics,
    type: z.literal('spawned'),
    engine: z.string(),
    task: z.string()
  }),
  z.object({
    ...basics,
    type: z.literal('cancel_requested'),
    reason: z.string().nullable()
  }),
  z.object({
    ...basics,
    type: z.literal('finished'),
    status,
    duration_ms: z.number(),
    cost_usd: z.number().nullable(),
    error: z.string().nullable()
  })
]);

type ShownRecord = z.output<typeof shownRecord>;

/** Lines of the journal as a table for people. */
export function logTable(host: Host, lines: string[]): string {
  const { dim } = colorsFor(process.stdout);
  const head: Cell[] = heading.map((text) => ({ text, color: dim }));
  return columns([head, ...rowsOf(host, lines)], widths);
}

/** The same without heading. */
export function logLines(host: Host, lines: string[]): string {
  return columns(rowsOf(host, lines), widths);
}

function rowsOf(host: Host, lines: string[]): Cell[][] {
  return lines.map((line) => {
    const { data } = shownRecord.safeParse(JSON.parse(line));
    return data ? rowOf(host, data) : unknownRow(line);
  });
}

function rowOf(host: Host, record: ShownRecord): Cell[] {
  const engine =
    record.type === 'spawned'
      ? record.engine
      : (host.store.recordOf(record.agent_id)?.engine ?? '-');
  return [
    utc(record.at),
    eventOf(record),
    oneLine(record.agent_id),
    oneLine(engine),
    oneLine(whatOf(record))
  ];
}

function unknownRow(line: string): Cell[] {
  return ['-', '?', '-', '-', oneLine(line)];
}

function eventOf(record: ShownRecord): Cell {
  const colors = colorsFor(process.stdout);
  switch (record.type) {
    case 'spawned':
      return 'spawned';
    case 'cancel_requested':
      return { text: 'cancel', color: colors.dim };
    case 'finished':
      return { text: record.status, color: statusColor(colors, record.status) };
  }
}

function whatOf(record: ShownRecord): string {
  switch (record.type) {
    case 'spawned':
      return record.task;
    case 'cancel_requested':
      return record.reason ?? '(no reason given)';
    case 'finished': {
      const seconds = duration(record.duration_ms / 1000);
      const effort = [seconds, dollars(record.cost_usd)].filter(Boolean);
      const error = record.error === null ? '' : `: ${record.error}`;
      return `${effort.join(', ')}${error}`;
    }
  }
}
