import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import {
  idOf,
  type MadeUp,
  makeUp
} from '../../../test/kit/agents/made-up-agents.ts';
import {
  type HostHere,
  hostHere
} from '../../../test/kit/servers/host-here.ts';
import { outcomeWith } from '../../../test/kit/servers/run-facts.ts';
import { statusLine } from './status-line.ts';

let here: HostHere;

beforeEach(async () => {
  here = await hostHere();
});

const hourMs = 3_600_000;
const [one, two] = [idOf(1), idOf(2)];

const line = (now?: number) =>
  statusLine(
    JSON.stringify({ workspace: { project_dir: here.workspace.path } }),
    now
  );

function agent(agent_id: string, made: Partial<MadeUp> = {}): string {
  return makeUp(here.workspace.record, { agent_id, daysAgo: null, ...made });
}

/** An agent whose end is in the journal. */
function ended(
  agent_id: string,
  hoursAgo: number,
  cost_usd: number | null,
  read = false
): void {
  const completedAt = new Date(Date.now() - hoursAgo * hourMs);
  const outcome = outcomeWith({ cost_usd });
  agent(agent_id, { daysAgo: hoursAgo / 24, outcome, read });
  here.host.journal.append(
    {
      ...{ type: 'finished', agent_id, status: 'completed', error: null },
      ...{ error_code: null, model: null, exit_code: 0, usage: null },
      ...{ cost_usd, duration_ms: 1, result: { chars: 1, text: 'x' } },
      completed_at: completedAt.toISOString()
    },
    completedAt
  );
}

describe('the status line', () => {
  test('is empty without an agent that is at work or unread', () => {
    expect(line()).toBe('');
    ended(one, 1, 2, true);
    expect(line()).toBe('');
  });

  test('counts agents at work', () => {
    agent(one);
    expect(line()).toBe('1 agent');
    agent(two);
    expect(line()).toBe('2 agents');
  });

  test('counts unread agents, with the cost of all that ended', () => {
    ended(one, 1, 0.4);
    ended(two, 2, 0.1, true);
    expect(line()).toBe('1 unread, $0.50');
    agent(idOf(3));
    expect(line()).toBe('1 agent, 1 unread, $0.50');
  });

  test('has no cost below half a cent, and none that is unknown', () => {
    ended(one, 1, 0.004);
    expect(line()).toBe('1 unread');
    ended(two, 1, 0.001);
    expect(line()).toBe('2 unread, $0.01');
    ended(idOf(3), 1, null);
    expect(line()).toBe('3 unread, $0.01');
  });

  test('leaves out what ended more than a day ago', () => {
    ended(one, 23, 0.1);
    expect(line()).toBe('1 unread, $0.10');
    expect(line(Date.now() + 2 * hourMs)).toBe('');
  });

  test('counts an end that is not recorded yet as unread, and no agent that was removed', () => {
    const directory = agent(one);
    writeFileSync(
      join(directory, 'outcome.json'),
      JSON.stringify(outcomeWith())
    );
    expect(line()).toBe('1 unread');
    writeFileSync(join(here.workspace.record, 'open', two), '');
    expect(line()).toBe('1 unread');
  });
});

describe('the workspace of the status line', () => {
  test.each([
    ['project_dir', (path: string) => ({ workspace: { project_dir: path } })],
    ['current_dir', (path: string) => ({ workspace: { current_dir: path } })],
    ['cwd', (path: string) => ({ cwd: path })],
    [
      'the first with a record',
      (path: string) => ({ workspace: { project_dir: '/', current_dir: path } })
    ],
    [
      'the first that is there',
      (path: string) => ({ workspace: { project_dir: '/missing' }, cwd: path })
    ]
  ])('is %s', (_, input) => {
    agent(one);
    const text = JSON.stringify(input(here.workspace.path));
    expect(statusLine(text)).toBe('1 agent');
  });

  test.each(['', '[]', '{"cwd": 1}', '{"workspace": 1}'])(
    'is the current directory without any: %s',
    (input) => {
      agent(one);
      expect(statusLine(input)).toBe('');
      vi.spyOn(process, 'cwd').mockReturnValue(here.workspace.path);
      expect(statusLine(input)).toBe('1 agent');
      vi.restoreAllMocks();
    }
  );

  test('is refused when the record is inside', () => {
    vi.stubEnv('TROUPE_HOME', join(here.workspace.path, 'home'));
    expect(() => line()).toThrow('inside the workspace');
  });
});
