import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { idOf } from '../../../../test/kit/agents/made-up-agents.ts';
import {
  type AgentHere,
  agentHere,
  id
} from '../../../../test/kit/servers/agent-here.ts';
import { gatherReport } from './gather-report.ts';

const [one, two, three] = [idOf(1), idOf(2), idOf(3)];
const token = `ghp_${'a1B2'.repeat(9)}`;

let here: AgentHere;

beforeEach(async () => {
  here = await agentHere();
});

const agent: AgentHere['agent'] = (made) => here.agent(made);

async function gathered() {
  return gatherReport(here.host, await here.run());
}

describe('the facts of a report', () => {
  test('are those of the record and of the end', async () => {
    agent({
      ...{ task: `look at ${token}`, tools: 'say', cwd: '/w', model: 'm1' },
      ...{ template: 't', command: 'prog', access: 'read' },
      worktree: { path: '/t', branch: 'b1', base: 'c', origin: '/o' },
      squad: { squadId: 's1', memberId: 'm', roleId: 'r1' },
      caller: { client: 'editor' },
      created_at: '2026-05-20T12:00:00.000Z',
      outcome: {
        ...{ exit_code: 0, cost_usd: 0.5, duration_ms: 90_000, model: 'm2' },
        usage: {
          ...{ prompt_tokens: 1200, completion_tokens: 3, total_tokens: 1203 }
        },
        denials: [`rm ${token}`]
      }
    });
    const { task, status, summary, facts, denials } = await gathered();
    expect([task, denials]).toEqual([
      expect.not.stringContaining(token),
      [expect.not.stringContaining(token)]
    ]);
    expect([status, summary[0]]).toEqual(['completed', 'Claude (m2)']);
    expect(summary.slice(1)).toEqual([
      expect.stringContaining('30'),
      expect.stringMatching(/^\$0\.5/)
    ]);
    expect(facts).toMatchObject({
      ...{ Engine: 'Claude [CLI]', Model: 'm2', Tools: 'say' },
      ...{ Tokens: '1,200 in, 3 out', 'Exit code': '0', Directory: '/w' },
      ...{ Branch: 'b1', Program: 'prog', Client: 'editor', Squad: 's1 (r1)' },
      Spawned: expect.stringContaining('2026-05-20 12:00'),
      Ended: expect.any(String)
    });
  });

  test('are unknown or missing where nothing is recorded', async () => {
    agent({ model: null, command: 'prog' });
    const { summary, facts } = await gathered();
    expect(summary[0]).toBe('Claude');
    expect(summary).toContain('cost unknown');
    expect(facts).toMatchObject({
      ...{ Model: 'default of the engine', Tokens: 'unknown', Cost: 'unknown' }
    });
    for (const name of ['Tools', 'Branch', 'Program', 'Squad'])
      expect(facts[name]).toBeUndefined();
  });

  test('before the end have no end, no answer and no changes', async () => {
    agent({ daysAgo: null, model: 'm1' });
    const found = await gathered();
    expect(found.summary).toEqual(['Claude (m1)']);
    expect(found.facts.Ended).toBeUndefined();
    expect([found.answer, found.error, found.changesNote]).toEqual([
      ...[undefined, undefined, undefined]
    ]);
  });
});

describe('the error of a report', () => {
  test.each([
    ['rate_limited', 'rate_limited', /\w/],
    [null, 'failed', /^$/]
  ] as const)('with the code %s', async (error_code, code, hint) => {
    const error = `no ${token}`;
    agent({ outcome: { status: 'failed', error, error_code } });
    const { error: found } = await gathered();
    expect(found?.code).toBe(code);
    expect(found?.hint).toMatch(hint);
    expect(found?.message).not.toContain(token);
  });
});

describe('the texts of a report', () => {
  test('are whole up to 400,000 characters, without secrets', async () => {
    agent({ text: `${token}${'x'.repeat(400_000 - token.length)}` });
    const { answer } = await gathered();
    expect(answer?.charsLeftOut).toBe(0);
    expect(answer?.head).not.toContain(token);
  });

  test('are cut in the middle when they are longer', async () => {
    const text = `${'a'.repeat(200_000)}${'b'.repeat(50_000)}${'c'.repeat(200_000)}`;
    agent({ text, outcome: { result_chars: text.length } });
    const { answer } = await gathered();
    expect(answer).toEqual({
      ...{ head: 'a'.repeat(200_000), tail: 'c'.repeat(200_000) },
      charsLeftOut: 50_000
    });
  });

  test('are missing when their file is gone', async () => {
    rmSync(join(agent(), 'result.txt'));
    const { answer, prompt } = await gathered();
    expect(answer).toBeUndefined();
    expect(prompt?.head).toBe('x');
  });
});

test('the patch of a report has no secrets, and its note', async () => {
  const directory = agent({
    patch: `diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+${token}\n`
  });
  const { diff, changesNote } = await gathered();
  expect(JSON.stringify(diff)).toContain('"a"');
  expect(JSON.stringify(diff)).not.toContain(token);
  expect(changesNote).toBeUndefined();
  rmSync(join(directory, 'changes.diff'));
  expect((await gathered()).changesNote).toMatch(/\w/);
});

test('the turns of a report are those of its engine', async () => {
  const directory = agent();
  const event = { type: 'progress', text: `reading ${token}` };
  writeFileSync(join(directory, 'stdout'), `${JSON.stringify(event)}\n`);
  const { turns } = await gathered();
  expect(turns).toMatchObject({ more: false, turns: [{ kind: 'notice' }] });
  expect(JSON.stringify(turns)).not.toContain(token);
});

test('the relatives of a report are in the order of their spawn', async () => {
  agent({ parent: one, continues: two });
  const at = (day: number) => `2026-05-0${day}T00:00:00.000Z`;
  agent({ agent_id: two, task: `x ${token}`, created_at: at(1) });
  agent({ agent_id: idOf(5), parent: id, created_at: at(4) });
  agent({
    ...{ agent_id: three, continues: id, parent: id, created_at: at(3) },
    daysAgo: null
  });
  agent({ agent_id: idOf(6) });
  const { relatives } = await gathered();
  expect(
    relatives.map((found) => [found.relation, found.id, found.status])
  ).toEqual([
    ['Spawned by', one, undefined],
    ['Continues', two, 'completed'],
    ['Continued by', three, 'not ended'],
    ['Spawned', idOf(5), 'completed']
  ]);
  expect(relatives[1]?.task).not.toContain(token);
});

test('the entries of a report are those of the agent since its spawn', async () => {
  const { journal } = here.host;
  agent({ created_at: '2026-05-20T12:00:00.000Z' });
  const cancel = (agent_id: string, reason: string, hour: number) =>
    journal.append(
      { type: 'cancel_requested', agent_id, reason },
      new Date(Date.UTC(2026, 4, 20, hour))
    );
  cancel(id, 'before', 11);
  cancel(id, 'first', 13);
  cancel(one, 'other', 14);
  cancel(id, 'second', 15);
  const texts = (await gathered()).entries.map(({ text }) => text);
  expect(texts).toEqual(['before', 'first', 'second']);
});
