import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { processesOf } from '../kit/agents/probe-agent.ts';
import { until } from '../kit/judges/until.ts';
import { askOf } from '../kit/servers/ask-calls.ts';
import { isMade } from './asks-suite.ts';
import {
  claude,
  codex,
  copilot,
  geminiCli,
  type RealCli,
  testWith
} from './clis.ts';
import { createStage, type Stage } from './stage.ts';

/** Each with its lowest access with which it asks. */
const all: [RealCli, string][] = [
  [claude, 'read'],
  [codex, 'write'],
  [copilot, 'read'],
  [geminiCli, 'read']
];

/** A stage that parks its agents at once when they wait. */
async function parkingStage(cli: RealCli): Promise<Stage> {
  const stage = await createStage(cli, { parkAfter: 1 });
  // Copilot keeps its sessions where its user has some already.
  await stage.run('[[say: Before.]]');
  return stage;
}

/** Starts an agent that asks, and waits until its program is gone. */
async function startParked(
  stage: Stage,
  script: string,
  access: string
): Promise<[id: string, ask: string]> {
  const more = { access, ask: 'coordinator', timeout: 150 };
  const id = await stage.start(script, more);
  const ask = await askOf(stage.server, id);
  const cleared = join(stage.workspace.record, 'spawns', id, 'asks/cleared');
  await until('the end of the program', () => existsSync(cleared), 30_000);
  return [id, ask];
}

for (const [cli, access] of all)
  describe(`${cli.name}, parked while it asks`, () => {
    const test = testWith(cli);
    const script = '[[escalate: touch made]] [[say: Never.]]';
    const again = '[[escalate: touch made]] [[say: Done.]]';

    test('runs the command that it was allowed, and asks for it once', async () => {
      const stage = await parkingStage(cli);
      const [id, ask_id] = await startParked(stage, script, access);
      expect(isMade(stage)).toBe(false);
      const given = { ask_id, decision: 'allow', text: again };
      await stage.server.call('answer_agent', given);
      const result = await stage.result(id);
      expect(result).toMatchObject({ status: 'completed', result: 'Done.' });
      expect(isMade(stage)).toBe(true);
      const asks = join(stage.workspace.record, 'spawns', id, 'asks');
      expect(existsSync(join(asks, '2.json'))).toBe(false);
      expect(processesOf(id)).toEqual([]);
    });

    test('has the reason of a denial, and does not run the command', async () => {
      const stage = await parkingStage(cli);
      const [id, ask_id] = await startParked(stage, script, access);
      const text = 'use the file tools [[say: Done.]]';
      const given = { ask_id, decision: 'deny', text };
      await stage.server.call('answer_agent', given);
      const result = await stage.result(id);
      expect(result).toMatchObject({ status: 'completed', result: 'Done.' });
      expect(stage.bodies().at(-1)).toContain('use the file tools');
      expect(isMade(stage)).toBe(false);
    });

    test('has the answer to its question', async () => {
      const stage = await parkingStage(cli);
      const question = JSON.stringify({ question: 'Tabs?' });
      const [id, ask_id] = await startParked(
        stage,
        `[[mcp: troupe-ask ask_coordinator ${question}]] [[say: Never.]]`,
        access
      );
      const text = 'spaces only [[say: Done.]]';
      await stage.server.call('answer_agent', { ask_id, text });
      const result = await stage.result(id);
      expect(result).toMatchObject({ status: 'completed', result: 'Done.' });
      expect(stage.bodies().at(-1)).toContain('spaces only');
    });
  });
