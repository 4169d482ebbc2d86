import { setImmediate as nextTurn } from 'node:timers/promises';
import { totalSize } from '../../../core/audit/journal/journal-files.ts';
import { blocksBack } from '../../../core/audit/journal/journal-reader.ts';
import {
  holdsRecord,
  type JournalRecord,
  parseRecord,
  reasonOf
} from '../../../core/audit/journal/journal-record.ts';
import { verifyJournal } from '../../../core/audit/journal/verify.ts';
import { shortName, terminalLine } from '../../../core/text.ts';
import type { Host } from '../../../host/host.ts';

const mostEntries = 100;
/** The most characters of a text in an entry. */
const mostChars = 500;

interface AuditEntry {
  at: string;
  type: string;
  agent_id: string;
  writer: string;
  n: number;
  /** What happened, on one line. */
  what: string;
  engine: string | null;
  /** Of an end. */
  status: string | null;
  seconds: number | null;
  cost_usd: number | null;
}

/**
 * Entries of the journal, newest first.
 * @param before where an earlier answer ended; default: the end of the journal
 */
export async function auditData(host: Host, before?: number) {
  const { files } = host.journal;
  const list = files.list();
  const entries: AuditEntry[] = [];
  let end = Math.min(before ?? Number.POSITIVE_INFINITY, totalSize(list));
  for (const { text, start } of blocksBack(files, list, end)) {
    let at = start + Buffer.byteLength(text);
    for (const line of text.split('\n').reverse()) {
      const bytes = Buffer.byteLength(line) + 1;
      if (holdsRecord(line)) {
        entries.push(entryOf(host, line));
        end = Math.max(start, at - bytes + 1);
      }
      at -= bytes;
      if (entries.length >= mostEntries) return { entries, next: end };
    }
    await nextTurn();
  }
  return { entries, next: null };
}

function entryOf({ store }: Host, line: string): AuditEntry {
  const record = parseRecord(line);
  if (!record)
    return {
      ...{ at: '', type: 'unknown', agent_id: '', writer: '', n: 0 },
      ...{ what: cut(line), engine: null, ...noEnd }
    };
  const { at, type, agent_id, writer, n } = record;
  const engine =
    record.type === 'spawned'
      ? record.engine
      : (store.recordOf(agent_id)?.engine ?? null);
  return {
    ...{ at, type, agent_id, n: Number(n) || 0 },
    writer: cut(String(writer)),
    what: cut(whatOf(record)),
    engine: engine === null ? null : cut(engine),
    ...(record.type === 'finished' ? endOf(record) : noEnd)
  };
}

const noEnd = { status: null, seconds: null, cost_usd: null };

function endOf({
  status,
  duration_ms,
  cost_usd
}: Extract<JournalRecord, { type: 'finished' }>) {
  return { status, seconds: duration_ms / 1000, cost_usd };
}

function whatOf(record: JournalRecord): string {
  switch (record.type) {
    case 'spawned':
      return record.client === undefined
        ? record.task
        : `${record.task} (${record.client})`;
    case 'cancel_requested':
      return reasonOf(record, 'no reason given');
    case 'asked':
      return `${record.tool}: ${record.subject}`;
    case 'answered': {
      const { by, who, decision, text } = record;
      const what = [decision, text].filter(Boolean).join(': ') || 'no answer';
      return `${what}, by ${who === undefined ? by : `${by} (${who})`}`;
    }
    case 'acted':
      return `${record.action}: ${record.what} (${record.who})`;
    case 'cleaned':
      return `${record.bytes} bytes removed from the record`;
    case 'finished':
      return record.error ?? '';
  }
}

/** Checks every chain now. */
export async function verifyData({ journal, paths }: Host) {
  const { records, heads, torn, faults } = await verifyJournal(
    journal.path,
    paths.heads
  );
  return {
    verified_at: new Date().toISOString(),
    ok: faults.length === 0,
    records,
    chains: heads.length,
    torn,
    faults: faults.slice(0, 20).map(({ file, line, problem }) => ({
      file: cut(file),
      line,
      problem: cut(problem)
    }))
  };
}

interface Sum {
  key: string;
  agents: number;
  not_completed: number;
  cost_usd: number | null;
  costs_unknown: number;
  tokens: number;
  seconds: number;
}

const dayMs = 86_400_000;

/**
 * The sums of agents that ended in the last days (UTC), by day, engine, model
 * and squad.
 */
export async function spendData(host: Host, days: number) {
  const { files } = host.journal;
  const list = files.list();
  const since = new Date(Date.now() - (days - 1) * dayMs)
    .toISOString()
    .slice(0, 10);
  const by = {
    day: new Map<string, Sum>(),
    engine: new Map<string, Sum>(),
    model: new Map<string, Sum>(),
    squad: new Map<string, Sum>()
  };
  const spawned = new Map<string, { engine: string; squad: string | null }>();
  const ends: Extract<JournalRecord, { type: 'finished' }>[] = [];
  for (const { text } of blocksBack(files, list, totalSize(list))) {
    let isOld = false;
    for (const line of text.split('\n')) {
      const record = parseRecord(line);
      if (!record) continue;
      isOld ||= record.at < since;
      if (record.type === 'spawned')
        spawned.set(record.agent_id, {
          engine: record.engine,
          squad: record.squad?.squadId ?? null
        });
      else if (record.type === 'finished' && record.completed_at >= since)
        ends.push(record);
    }
    if (isOld) break;
    await nextTurn();
  }
  for (const end of ends) {
    const record = host.store.recordOf(end.agent_id);
    const of = spawned.get(end.agent_id);
    const engine = of?.engine ?? record?.engine ?? 'unknown';
    const squad = of?.squad ?? record?.squad?.squadId;
    add(by.day, end.completed_at.slice(0, 10), end);
    add(by.engine, engine, end);
    add(by.model, `${engine} ${end.model ?? 'default'}`, end);
    if (squad) add(by.squad, squad, end);
  }
  const sorted = (sums: Map<string, Sum>) =>
    [...sums.values()].sort(
      (a, b) => (b.cost_usd ?? -1) - (a.cost_usd ?? -1) || b.agents - a.agents
    );
  return {
    since,
    days,
    by_day: [...by.day.values()].sort((a, b) => b.key.localeCompare(a.key)),
    by_engine: sorted(by.engine),
    by_model: sorted(by.model),
    by_squad: sorted(by.squad)
  };
}

function add(
  sums: Map<string, Sum>,
  name: string,
  {
    status,
    cost_usd,
    usage,
    duration_ms
  }: Extract<JournalRecord, { type: 'finished' }>
): void {
  const key = cut(name);
  const none = { agents: 0, not_completed: 0, costs_unknown: 0, tokens: 0 };
  const sum = sums.get(key) ?? { key, ...none, cost_usd: null, seconds: 0 };
  sum.agents += 1;
  if (status !== 'completed') sum.not_completed += 1;
  if (cost_usd === null) sum.costs_unknown += 1;
  else sum.cost_usd = (sum.cost_usd ?? 0) + cost_usd;
  sum.tokens += usage?.total_tokens ?? 0;
  sum.seconds += duration_ms / 1000;
  sums.set(key, sum);
}

function cut(text: string): string {
  return terminalLine(shortName(text, mostChars));
}
