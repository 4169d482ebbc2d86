import { expect, onTestFinished, test } from 'vitest';
import { callContext } from '../../../../test/kit/servers/call-context.ts';
import { hostHere } from '../../../../test/kit/servers/host-here.ts';
import type { CliEngine } from '../../../plugin/plugin.ts';
import { squadTools } from './squad.ts';

const engine = (name: string, script: string): CliEngine => ({
  kind: 'cli',
  name,
  description: 'For tests.',
  command: '/bin/sh',
  args: () => ['-c', script]
});

/** Starts one member on an engine, and returns the facts of the answer. */
async function start(member: CliEngine, more: Record<string, unknown> = {}) {
  const { host, workspace } = await hostHere(
    { engines: member.name, squad: { engine: member.name } },
    [member]
  );
  onTestFinished(async () => {
    for (const id of host.store.ids()) await host.cancel(id);
  });
  workspace.write('agents/tester.md', 'You test.');
  const tool = squadTools(host).find(
    ({ name }) => name === 'start_squad_members'
  );
  const answer = await tool?.call(
    { members: [{ roleId: 'tester', task: 'Test it.' }], ...more },
    callContext()
  );
  return Object(answer?.structuredContent);
}

test('a squad whose members have all ended is answered without a word on how to wait', async () => {
  const facts = await start(engine('quick', 'echo done'));
  expect(facts).toMatchObject({ members: [{ status: 'completed' }] });
  expect(facts).not.toHaveProperty('message');
});

test('a squad in the background is answered with its open members and how to wait for them', async () => {
  const facts = await start(engine('still', 'exec sleep 100'), {
    background: true
  });
  expect(facts.message).toMatch(
    /^1 of 1 have not ended\. .*; nothing is lost\./
  );
  expect(facts.message).toContain(facts.squadId);
});
