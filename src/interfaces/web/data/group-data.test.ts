import { rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { idOf, makeUp } from '../../../../test/kit/agents/made-up-agents.ts';
import { until } from '../../../../test/kit/judges/until.ts';
import {
  openCouncil,
  participantOf,
  responseOf
} from '../../../../test/kit/servers/council-states.ts';
import {
  type HostHere,
  hireWorker,
  hostHere
} from '../../../../test/kit/servers/host-here.ts';
import type { CouncilState } from '../../../core/council/state.ts';
import { claimNeverStarts } from '../../../core/runs/run-files.ts';
import { SquadStore } from '../../../core/squads/squad-store.ts';
import { councilData, squadsData, workersData } from './group-data.ts';

let here: HostHere;

beforeEach(async () => {
  here = await hostHere();
});

describe('squads', () => {
  const time = '2026-05-20T12:00:00.000Z';
  const [known, unknown] = [idOf(1), idOf(2)];

  function squad(number: number): string {
    const squadId = `squad-${number.toString(16).padStart(8, '0')}`;
    new SquadStore(here.workspace.record).create({
      ...{ v: 1, squadId, created_at: time, stateMode: 'stateless' },
      members: [
        { memberId: 'a\u0007', roleId: 'r', cwd: 'src', agentId: known },
        { memberId: 'b', roleId: 'r', cwd: '.', agentId: unknown }
      ]
    });
    const path = join(here.workspace.record, 'squads', `${squadId}.json`);
    utimesSync(path, number, number);
    return squadId;
  }

  test('are none before the first', async () => {
    expect(await squadsData(here.host)).toEqual({ squads: [], total: 0 });
  });

  test('have their members in order, with null for an agent that is gone', async () => {
    makeUp(here.workspace.record, { agent_id: known, daysAgo: 1 });
    const squadId = squad(1);
    expect(await squadsData(here.host)).toEqual({
      squads: [
        {
          ...{ squadId, created_at: time, stateMode: 'stateless' },
          members: [
            {
              ...{ memberId: 'a', roleId: 'r', cwd: 'src', agent_id: known },
              agent: expect.objectContaining({ status: 'completed' })
            },
            {
              ...{ memberId: 'b', roleId: 'r', cwd: '.', agent_id: unknown },
              agent: null
            }
          ]
        }
      ],
      total: 1
    });
  });

  test('come newest first, thirty at most, without files that are no squad', async () => {
    for (let number = 1; number <= 31; number += 1) squad(number);
    const folder = join(here.workspace.record, 'squads');
    writeFileSync(join(folder, 'squad-ffffffff.tmp'), '');
    writeFileSync(join(folder, 'squad-eeeeeeee.json'), '{}');
    const { squads, total } = await squadsData(here.host);
    expect(total).toBe(32);
    expect(squads).toHaveLength(29);
    expect(squads[0]?.squadId).toBe('squad-0000001f');
    expect(squads.at(-1)?.squadId).toBe('squad-00000003');
  });

  test('that cannot be listed are an error', async () => {
    writeFileSync(join(here.workspace.record, 'squads'), '');
    await expect(squadsData(here.host)).rejects.toThrow('ENOTDIR');
  });
});

describe('the council', () => {
  async function put(state: CouncilState) {
    await here.host.councilStore.change(() => ({ state, result: undefined }));
    return councilData(here.host);
  }

  test('is null without a session, and without its request', async () => {
    expect(councilData(here.host)).toEqual({ session: null });
    expect(await put(openCouncil({ requests: [] }))).toEqual({ session: null });
  });

  test('has its request, responses, participants and summons', async () => {
    const summon = {
      ...{ agent_name: 'grok', engine: 'grok', session_id: 's1' },
      ...{ workspace: '/w', owner: here.host.processes.self, created_at: 'x' },
      status: 'failed' as const
    };
    const data = await put(
      openCouncil({
        feedback: [
          responseOf('r1', 'codex'),
          { ...responseOf('r2', 'person'), by: 'person' },
          { ...responseOf('r3', 'codex'), request_id: 'q0' }
        ],
        participants: [
          participantOf('codex', { last_request_seen: 'q1' }),
          participantOf('claude')
        ],
        summons: [
          { ...summon, agent_id: 'a', request_id: 'q1', error: 'no\nkey' },
          { ...summon, agent_id: 'b', request_id: 'q1' },
          { ...summon, agent_id: 'c', request_id: 'q0' }
        ]
      })
    );
    expect(data).toMatchObject({
      session: { id: 's1', status: 'active', conclusion: null },
      request: {
        ...{ created_by: 'claude', status: 'open', content: 'Which?' },
        content_chars: 6
      },
      engines: ['rehearsal'],
      responses: [
        { id: 'r1', author: 'codex', by: null },
        { id: 'r2', author: 'person', by: 'person' }
      ],
      responses_total: 2,
      participants: [
        { agent_name: 'codex', has_request: true, responses: 1 },
        { agent_name: 'claude', has_request: false, responses: 0 }
      ],
      summons: [
        { agent_id: 'a', status: 'failed', error: 'no key' },
        { agent_id: 'b', error: null }
      ]
    });
  });

  test('has the end of a long discussion, and the beginning of a long text', async () => {
    const feedback = Array.from({ length: 201 }, (_, n) =>
      responseOf(`r${n}`, 'codex', n === 200 ? 'y'.repeat(30_000) : 'x')
    );
    const data = Object(await put(openCouncil({ feedback })));
    expect(data.responses).toHaveLength(200);
    expect(data.responses[0].id).toBe('r1');
    expect(data.responses[199].content).toBe(`${'y'.repeat(20_000)}…`);
    expect(data.responses[199].content_chars).toBe(30_000);
    expect(data.responses_total).toBe(201);
  });

  test('has the conclusion of a closed session', async () => {
    const { session, ...rest } = openCouncil();
    const conclusion = { author: 'a\nb', content: 'Done.', created_at: 'x' };
    const closed = session && { ...session, status: 'closed' as const };
    const state = { ...rest, session: closed && { ...closed, conclusion } };
    expect(await put(state)).toMatchObject({
      session: {
        status: 'closed',
        conclusion: { author: 'a b', content: 'Done.', content_chars: 5 }
      }
    });
  });
});

describe('workers', () => {
  const id = 'aaaaaaaa';

  test('have their queue and their last events', async () => {
    const { log } = hireWorker(here, id, { model: 'm\n1' });
    await log.change(() => ({
      events: [{ type: 'ready', by: 'troupe' }, { type: 'progress' }],
      result: undefined
    }));
    await here.host.orchestrator.enqueue(id, { id: 't1', payload: 'look' });
    await here.host.orchestrator.enqueue(id, {
      id: 't2',
      payload: { text: 'then', more: 1 }
    });
    const { workers } = await workersData(here.host);
    expect(workers).toMatchObject([
      {
        ...{ agent_id: id, name: 'One', role: 'builder', model: 'm 1' },
        ...{ access: 'full', backend: 'process', is_stopping: false },
        tasks: [
          { task_id: 't1', id: 't1', what: 'look', is_running: false },
          { task_id: 't2', what: '{"text":"then","more":1}' }
        ],
        tasks_total: 2,
        events: [
          { type: 'ready', by: 'troupe', task_id: null, payload: '' },
          { type: 'progress', by: null }
        ]
      }
    ]);
  });

  test('have the words of a task that is a text, and the beginning of one in a file', async () => {
    hireWorker(here, id);
    const { orchestrator } = here.host;
    await orchestrator.enqueue(id, { id: 't1', payload: { text: 'words' } });
    await orchestrator.enqueue(id, { id: 't2', payload: { text: 7 } });
    await orchestrator.enqueue(id, { id: 't3', payload: 'x'.repeat(70_000) });
    const { workers } = await workersData(here.host);
    const what = workers[0]?.tasks.map((task) => task.what) ?? [];
    expect(what.slice(0, 2)).toEqual(['words', '{"text":7}']);
    expect(what[2]).toMatch(/^70,\d{3} bytes in \S+: "?xxx/);
    const { folder, log } = orchestrator.store.get(id);
    const file = log.read().tasks[2]?.payloadFile ?? '';
    rmSync(join(folder.private, file));
    const again = await workersData(here.host);
    expect(again.workers[0]?.tasks[2]?.what).toMatch(/^no bytes in /);
  });

  test('that are to stop say so', async () => {
    const { log } = hireWorker(here, id);
    await log.change(() => ({
      events: [{ type: 'ready', by: 'troupe' }],
      result: undefined
    }));
    await here.host.orchestrator.enqueue(id, { id: 't1', payload: 'x' });
    await here.host.orchestrator.delete(id, { force: false, confirm: false });
    const { workers } = await workersData(here.host);
    expect(workers).toMatchObject([{ is_stopping: true, tasks_total: 1 }]);
  });

  test('whose program is gone have ended', async () => {
    const { folder, log } = hireWorker(here, id);
    await log.change(() => ({
      events: [{ type: 'ready', by: 'troupe' }],
      result: undefined
    }));
    claimNeverStarts(folder.start(1));
    // A look waits 300 ms for an end, which takes longer on a busy machine.
    await until('its end', async () => {
      const { workers } = await workersData(here.host);
      return workers[0]?.status === 'crashed';
    });
  });
});
