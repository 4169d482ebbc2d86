import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { idOf, makeUp } from '../../../../test/kit/agents/made-up-agents.ts';
import { hostHere } from '../../../../test/kit/servers/host-here.ts';
import type { TempWorkspace } from '../../../../test/kit/workspaces/temp-workspace.ts';
import type {
  FinishedRecord,
  JournalEvent,
  SpawnedRecord
} from '../../../core/audit/journal/journal-record.ts';
import type { Host } from '../../../host/host.ts';
import { auditData, spendData, verifyData } from './journal-data.ts';

let workspace: TempWorkspace;
let host: Host;

beforeEach(async () => {
  ({ workspace, host } = await hostHere());
});

afterEach(() => {
  vi.useRealTimers();
});

const id = idOf(0x11111111);
const other = idOf(0x22222222);

/** Appends records to the journal, at noon of a day in May 2026. */
function journal(...events: JournalEvent[]): void {
  for (const event of events) {
    const end = event.type === 'finished' ? event.completed_at : undefined;
    host.journal.append(event, new Date(end ?? noon(20)));
  }
}

function noon(day: number): string {
  return `2026-05-${day}T12:00:00.000Z`;
}

const text = { chars: 1, text: 'x' };

function spawned(changes: Partial<SpawnedRecord> = {}): SpawnedRecord {
  return {
    ...{ type: 'spawned', agent_id: id, engine: 'claude', label: 'Claude' },
    ...{ kind: 'cli', access: 'read', enforcement: 'enforced', task: 'look' },
    ...{ created_at: noon(20), cwd: '/w', model: null, tools: null },
    ...{ parent: null, continues: null, prompt: text, ...changes }
  };
}

function finished(changes: Partial<FinishedRecord> = {}): FinishedRecord {
  return {
    ...{ type: 'finished', agent_id: id, status: 'completed', error: null },
    ...{ error_code: null, model: null, exit_code: 0, cost_usd: 0.5 },
    ...{ usage: null, duration_ms: 1500, completed_at: noon(20) },
    ...{ result: text, ...changes }
  };
}

const asked = { type: 'answered', agent_id: id, ask_id: 'a' } as const;
const unanswered = { decision: null, text: null, waited_ms: 1 } as const;

describe('an entry of the journal', () => {
  test.each<[string, JournalEvent]>([
    ['look', spawned()],
    ['look (editor)', spawned({ client: 'editor' })],
    ['', finished()],
    ['It broke.', finished({ status: 'failed', error: 'It broke.' })],
    [
      'no reason given',
      { type: 'cancel_requested', agent_id: id, reason: null }
    ],
    [
      'enough, from the page',
      {
        ...{ type: 'cancel_requested', agent_id: id },
        ...{ reason: 'enough', who: 'from the page' }
      }
    ],
    [
      'Bash: rm -r x',
      {
        ...{ type: 'asked', agent_id: id, ask_id: 'a', kind: 'permission' },
        ...{ tool: 'Bash', subject: 'rm -r x', asked_at: noon(20) }
      }
    ],
    ['no answer, by timeout', { ...asked, ...unanswered, by: 'timeout' }],
    [
      'allow, by person (page)',
      { ...asked, ...unanswered, decision: 'allow', by: 'person', who: 'page' }
    ],
    [
      'deny: not now, by rule',
      { ...asked, ...unanswered, decision: 'deny', text: 'not now', by: 'rule' }
    ],
    [
      'task_sent: t1 (from the page)',
      {
        ...{ type: 'acted', agent_id: id, action: 'task_sent', what: 't1' },
        who: 'from the page'
      }
    ],
    [
      '12 bytes removed from the record',
      { type: 'cleaned', agent_id: id, bytes: 12, completed_at: null }
    ]
  ])('says on one line: %s', async (what, event) => {
    journal(event);
    const { entries, next } = await auditData(host);
    expect(next).toBeNull();
    expect(entries).toMatchObject([
      { what, type: event.type, agent_id: id, n: 0, at: noon(20) }
    ]);
    expect(entries[0]?.writer).toMatch(/\w/);
  });

  test('of an end has its status, its time and its cost', async () => {
    journal(spawned(), finished({ status: 'timeout' }));
    expect((await auditData(host)).entries).toMatchObject([
      { status: 'timeout', seconds: 1.5, cost_usd: 0.5 },
      { status: null, seconds: null, cost_usd: null }
    ]);
  });

  test('has the engine of its spawn, or of the record of the agent', async () => {
    journal(spawned({ engine: 'codex' }));
    journal(finished(), finished({ agent_id: other }));
    makeUp(workspace.record, { agent_id: id, engine: 'claude', daysAgo: 1 });
    const { entries } = await auditData(host);
    expect(entries.map(({ engine }) => engine)).toEqual([
      null,
      'claude',
      'codex'
    ]);
  });

  test('that cannot be read is shown as it is', async () => {
    journal(spawned());
    const odd = { type: 'odd\u0007', agent_id: id, x: 'x'.repeat(500) };
    appendFileSync(host.journal.path, `${JSON.stringify(odd)}\n`);
    const [first, second] = (await auditData(host)).entries;
    expect(first).toMatchObject({
      ...{ type: 'unknown', at: '', agent_id: '', n: 0, status: null },
      what: expect.stringMatching(/^.*odd.*x…$/)
    });
    expect(first?.what).toHaveLength(501);
    expect(second).toMatchObject({ type: 'spawned' });
  });
});

test('entries come newest first, a hundred at a time, until there is no earlier one', async () => {
  for (let n = 1; n <= 150; n += 1) journal(spawned({ task: `é ${n}` }));
  const first = await auditData(host);
  expect(first.entries).toHaveLength(100);
  expect(first.entries.at(0)).toMatchObject({ what: 'é 150', n: 149 });
  expect(first.entries.at(-1)?.what).toBe('é 51');
  const second = await auditData(host, first.next ?? 0);
  expect(second.entries.at(0)?.what).toBe('é 50');
  expect(second.entries.at(-1)?.what).toBe('é 1');
  expect(second.next).toBeNull();
  expect((await auditData(host, 1e15)).entries).toEqual(first.entries);
});

test('a journal is verified, and what was changed in it is named', async () => {
  journal(spawned(), finished());
  expect(await verifyData(host)).toMatchObject({
    ...{ ok: true, records: 2, chains: 1, torn: 0, faults: [] }
  });
  const whole = readFileSync(host.journal.path, 'utf8');
  writeFileSync(host.journal.path, whole.replace('look', 'book'));
  const { ok, faults } = await verifyData(host);
  expect(ok).toBe(false);
  expect(faults[0]).toMatchObject({ problem: expect.stringMatching(/\w/) });
});

describe('the sums of the last days', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(noon(20)) });
  });

  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
  const squad = { squadId: 'squad-1', memberId: 'm', roleId: 'r' };

  test('are those of each day, engine, model and squad', async () => {
    const codex = { agent_id: other, engine: 'codex', squad };
    journal(
      spawned(),
      spawned(codex),
      finished({ completed_at: noon(19), usage, model: 'm' }),
      finished({ agent_id: other, status: 'failed', cost_usd: null }),
      finished({ agent_id: other, cost_usd: 2 })
    );
    const claude = {
      ...{ agents: 1, not_completed: 0, cost_usd: 0.5, costs_unknown: 0 },
      ...{ tokens: 3, seconds: 1.5 }
    };
    const both = {
      ...{ agents: 2, not_completed: 1, cost_usd: 2, costs_unknown: 1 },
      ...{ tokens: 0, seconds: 3 }
    };
    expect(await spendData(host, 30)).toEqual({
      since: '2026-04-21',
      days: 30,
      by_day: [
        { key: '2026-05-20', ...both },
        { key: '2026-05-19', ...claude }
      ],
      by_engine: [
        { key: 'codex', ...both },
        { key: 'claude', ...claude }
      ],
      by_model: [
        { key: 'codex default', ...both },
        { key: 'claude m', ...claude }
      ],
      by_squad: [{ key: 'squad-1', ...both }]
    });
  });

  test('begin with the first of these days, and count each end by its own', async () => {
    journal(
      spawned(),
      finished({ completed_at: noon(18) }),
      finished({ completed_at: noon(19) }),
      finished()
    );
    const { since, by_day: days } = await spendData(host, 2);
    expect(since).toBe('2026-05-19');
    expect(days.map(({ key }) => key)).toEqual(['2026-05-20', '2026-05-19']);
  });

  test('put the dearest first, then those with more agents, and unknown costs last', async () => {
    const end = (agent_id: string, cost_usd: number | null) =>
      finished({ agent_id, cost_usd });
    const [a, b, c] = [idOf(1), idOf(2), idOf(3)];
    journal(
      spawned({ agent_id: a, engine: 'none' }),
      spawned({ agent_id: b, engine: 'one' }),
      spawned({ agent_id: c, engine: 'two' }),
      ...[end(a, null), end(b, 1), end(c, 0.5), end(c, 0.5)]
    );
    const { by_engine: engines } = await spendData(host, 1);
    expect(engines.map(({ key }) => key)).toEqual(['two', 'one', 'none']);
  });

  test('take the engine and the squad from the record when the spawn is not in the journal', async () => {
    makeUp(workspace.record, {
      ...{ agent_id: id, engine: 'codex', squad, daysAgo: 0 }
    });
    journal(finished(), finished({ agent_id: other, cost_usd: null }));
    const { by_engine: engines, by_squad: squads } = await spendData(host, 1);
    expect(engines.map(({ key }) => key)).toEqual(['codex', 'unknown']);
    expect(squads.map(({ key }) => key)).toEqual(['squad-1']);
  });
});
