import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import {
  outcomeWith,
  recordWith
} from '../../../../test/kit/servers/run-facts.ts';
import { createTempWorkspace } from '../../../../test/kit/workspaces/temp-workspace.ts';
import { createProcesses } from '../../../adapters/child-process/processes.ts';
import type { CliEngine, Reply, Usage } from '../../../plugin/plugin.ts';
import type { Outcome, RunRecord } from '../run.ts';
import { RunStore } from '../run-store.ts';
import { queueTurn } from '../sessions/session-turns.ts';
import { readOutcome } from './outcome.ts';

const processes = createProcesses('');

/** An engine whose events are parts of its reply. */
const engine: CliEngine = {
  kind: 'cli',
  name: 'x',
  description: '',
  command: 'x',
  args: () => [],
  read: (reply, event) => ({ ...reply, ...Object(event) })
};

let store: RunStore;

beforeEach(() => {
  const workspace = createTempWorkspace();
  onTestFinished(workspace.remove);
  store = new RunStore(workspace.record);
});

/** The usage of this many tokens, most of them of the prompt. */
function tokens(total: number): Usage {
  return {
    prompt_tokens: total - 1,
    completion_tokens: 1,
    total_tokens: total
  };
}

/** The increase by this many tokens of the prompt. */
function increase(by: number): Usage {
  return { prompt_tokens: by, completion_tokens: 0, total_tokens: by };
}

const session = (usage: Usage): Partial<Reply> => ({
  usage,
  usageScope: 'session'
});

type Part = Partial<RunRecord>;

/** A run of the chat that has printed these parts of a reply, and its end. */
async function run(
  agent_id: string,
  parts: Partial<Reply>[],
  record: Part = {}
): Promise<Outcome> {
  const ended = recordWith({
    ...{ agent_id, engine: 'x', owner: processes.self },
    ...record
  });
  if (ended.session_id) queueTurn('x', ended.session_id, agent_id, store);
  store.create(ended, 'x', 'x');
  const directory = store.directoryOf(agent_id);
  const { pid, start } = processes.self;
  writeFileSync(join(directory, 'claim'), `${pid} ${start}\n`);
  writeFileSync(join(directory, 'exit'), '0\n');
  const last: Partial<Reply> = { text: 'Done.', finished: true };
  const lines = [{ sessionId: 'chat' }, ...parts, last];
  writeFileSync(
    join(directory, 'stdout'),
    lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  );
  const outcome = await readOutcome(ended, undefined, {
    processes,
    store,
    engineOf: () => engine
  });
  store.end(agent_id, outcome);
  return outcome;
}

/** A later turn of the chat. */
const turn = (
  id: string,
  parts: Partial<Reply>[],
  continues = '00000001'
): Promise<Outcome> => run(id, parts, { continues, session_id: 'chat' });

describe('the tokens of an engine that counts the whole chat', () => {
  test('are all those of a first turn', async () => {
    const { usage, session_usage } = await run('00000001', [
      session(tokens(40)),
      session(tokens(100))
    ]);
    expect(usage).toEqual(tokens(100));
    expect(session_usage).toEqual(tokens(100));
  });

  test('are the increase in each later turn', async () => {
    await run('00000001', [session(tokens(100))]);
    const second = await turn('00000002', [session(tokens(130))]);
    expect(second.usage).toEqual(increase(30));
    expect(second.session_usage).toEqual(tokens(130));
    const third = await turn('00000003', [session(tokens(135))]);
    expect(third.usage).toEqual(increase(5));
    expect(third.session_usage).toEqual(tokens(135));
    const fourth = await turn('00000004', [session(tokens(137))]);
    expect(fourth.usage).toEqual(increase(2));
  });

  test('are each the increase of their own kind', async () => {
    const of = (prompt: number, completion: number) => ({
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion
    });
    await run('00000001', [session(of(100, 7))]);
    const { usage } = await turn('00000002', [session(of(250, 19))]);
    expect(usage).toEqual(of(150, 12));
  });

  test('are all those of a turn whose total is less than before', async () => {
    await run('00000001', [session({ ...tokens(100), total_tokens: 900 })]);
    const { usage } = await turn('00000002', [session(tokens(130))]);
    expect(usage).toEqual(tokens(130));
  });

  test('are the increase since the turn before, whichever agent is continued', async () => {
    await run('00000001', [session(tokens(100))]);
    await turn('00000002', [session(tokens(130))]);
    const third = await turn('00000003', [session(tokens(131))], '00000001');
    expect(third.usage).toEqual(increase(1));
  });

  test('are none in a turn that reported none, and later turns go on', async () => {
    await run('00000001', [session(tokens(100))]);
    const silent = await turn('00000002', []);
    expect(silent.usage).toBeNull();
    expect(silent.session_usage).toEqual(tokens(100));
    const third = await turn('00000003', [session(tokens(130))]);
    expect(third.usage).toEqual(increase(30));
  });

  test('go on after a turn that never started', async () => {
    await run('00000001', [session(tokens(100))]);
    await turn('00000002', [session(tokens(130))]);
    const canceled = { agent_id: '00000003', engine: 'x', session_id: 'chat' };
    queueTurn('x', 'chat', '00000003', store);
    store.create(recordWith(canceled), 'x', 'x');
    store.end('00000003', outcomeWith({ status: 'canceled' }));
    const { usage } = await turn('00000004', [session(tokens(135))]);
    expect(usage).toEqual(increase(5));
  });

  test('do not depend on turns after it', async () => {
    await run('00000001', [session(tokens(100))]);
    queueTurn('x', 'chat', '00000002', store);
    const later = { agent_id: '00000003', engine: 'x', session_id: 'chat' };
    queueTurn('x', 'chat', '00000003', store);
    store.create(recordWith(later), 'x', 'x');
    store.end('00000003', outcomeWith({ session_usage: tokens(900) }));
    const { usage } = await turn('00000002', [session(tokens(130))]);
    expect(usage).toEqual(increase(30));
  });

  test('are all of them if the chat is not in the record', async () => {
    const { usage } = await turn('00000002', [session(tokens(130))]);
    expect(usage).toEqual(tokens(130));
  });

  test('are all of them once the engine began to count again', async () => {
    await run('00000001', [session(tokens(100))]);
    const second = await turn('00000002', [session(tokens(30))]);
    expect(second.usage).toEqual(tokens(30));
    expect(second.session_usage).toEqual(tokens(30));
    const third = await turn('00000003', [session(tokens(45))]);
    expect(third.usage).toEqual(increase(15));
  });
});

describe('the tokens of an engine that counts each run', () => {
  test('are those of the turn alone', async () => {
    await run('00000001', [{ usage: tokens(100) }]);
    const second = await turn('00000002', [
      { usage: tokens(130), usageScope: 'run' }
    ]);
    expect(second.usage).toEqual(tokens(130));
    expect(second.session_usage).toBeNull();
  });

  test('are not those of the chat if none are reported', async () => {
    await run('00000001', [{ usage: tokens(100) }]);
    const { usage, session_usage } = await turn('00000002', []);
    expect(usage).toBeNull();
    expect(session_usage).toBeNull();
  });
});

test('the cost of a turn is what its own run reported', async () => {
  const first = await run('00000001', [{ costUsd: 0.5 }, { costUsd: 0.75 }]);
  expect(first.cost_usd).toBe(0.75);
  expect((await turn('00000002', [{ costUsd: 0.1 }])).cost_usd).toBe(0.1);
  expect((await turn('00000003', [{ costUsd: 0 }])).cost_usd).toBe(0);
  expect((await turn('00000004', [])).cost_usd).toBeNull();
});
