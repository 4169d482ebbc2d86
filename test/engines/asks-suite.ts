import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect } from 'vitest';
import { processesOf } from '../kit/agents/probe-agent.ts';
import { until } from '../kit/judges/until.ts';
import { askOf, asksOf } from '../kit/servers/ask-calls.ts';
import { cliFolder, type RealCli, testWith } from './clis.ts';
import { createStage, type Stage } from './stage.ts';

const troupe = join(import.meta.dirname, '../../dist/troupe.cjs');

/** Outlives its command, and tries to answer the second ask of its agent. */
const answerer = `
const { spawn, spawnSync } = require('node:child_process');
const { renameSync, writeFileSync } = require('node:fs');
const { env, execPath, argv } = process;
if (argv[2] !== 'on') {
  const more = { detached: true, stdio: 'ignore' };
  spawn(execPath, [__filename, 'on'], more).unref();
} else
  for (;;) {
    const words = ['answer', env.TROUPE_AGENT_ID + '-2', 'allow', '--json'];
    const options = { encoding: 'utf8' };
    const { stdout } = spawnSync(execPath, [${JSON.stringify(troupe)}, ...words], options);
    if (stdout.includes('unknown_ask')) continue;
    writeFileSync('said.new', stdout);
    renameSync('said.new', 'said');
    break;
  }
`;

export const script = '[[escalate: touch made]] [[say: Done.]]';

/** What a CLI that can ask for permission has. */
interface Asking {
  /** Its lowest access with which it asks. */
  access: 'read' | 'write';
  /** What it calls its shell. */
  shell: string;
  /** By the Agent Client Protocol: the bridge runs it, and denies silently. */
  isHosted?: true;
}

/** A real CLI that asks: each of them keeps all of this. */
export function asksSuite(
  cli: RealCli,
  { access, shell, isHosted }: Asking
): void {
  const test = testWith(cli);
  const asking = { access, ask: 'coordinator' };
  const answer = (
    stage: Stage,
    ask_id: unknown,
    given: Record<string, unknown>
  ) => stage.server.call('answer_agent', { ask_id, ...given });

  describe(`${cli.name} with ask`, () => {
    test('runs a command that is allowed, once', async () => {
      const stage = await createStage(cli);
      const twice = `[[escalate: touch made]] ${script}`;
      const id = await stage.start(twice, asking);
      const [ask, ...more] = await asksOf(stage.server, [id]);
      expect(more).toEqual([]);
      expect(ask).toMatchObject({
        kind: 'permission',
        tool: shell,
        command: 'touch made'
      });
      expect(isMade(stage)).toBe(false);
      await answer(stage, ask?.ask_id, { decision: 'allow' });
      const again = await askOf(stage.server, id);
      expect(isMade(stage)).toBe(true);
      await answer(stage, again, { decision: 'deny' });
      const result = await stage.result(id);
      expect(result).toMatchObject({ status: 'completed', result: 'Done.' });
    });

    test('does not run a command that is denied, and its model has the reason', async () => {
      const stage = await createStage(cli);
      const id = await stage.start(script, asking);
      const ask = await askOf(stage.server, id);
      const text = 'use the file tools';
      await answer(stage, ask, { decision: 'deny', text });
      expect(await stage.result(id)).toMatchObject({ status: 'completed' });
      expect(isMade(stage)).toBe(false);
      if (!isHosted) expect(stage.bodies().at(-1)).toContain(text);
    });

    test('is denied what is not answered in time, and an answer is too late', async () => {
      const stage = await createStage(cli);
      const id = await stage.start(script, { ...asking, ask_timeout: 1 });
      const ask = await askOf(stage.server, id);
      expect(await stage.result(id)).toMatchObject({ status: 'completed' });
      const late = await answer(stage, ask, { decision: 'allow' });
      expect(late.data).toMatchObject({ error_code: 'ask_expired' });
      expect(isMade(stage)).toBe(false);
    });

    test('is denied when its bridge is killed', async () => {
      const stage = await createStage(cli);
      const id = await stage.start(script, asking);
      await askOf(stage.server, id);
      process.kill(bridgeOf(stage, id), 'SIGKILL');
      const status = isHosted ? 'interrupted' : 'completed';
      expect(await stage.result(id)).toMatchObject({ status });
      expect(isMade(stage)).toBe(false);
    });

    test('is denied when its program is killed', async () => {
      const stage = await createStage(cli);
      const id = await stage.start(script, asking);
      const ask = await askOf(stage.server, id);
      for (const pid of programsOf(id)) process.kill(pid, 'SIGKILL');
      const { status } = await stage.result(id);
      expect(['failed', 'interrupted']).toContain(status);
      const late = await answer(stage, ask, { decision: 'allow' });
      expect(late.data).toMatchObject({ error_code: 'ask_expired' });
      expect(isMade(stage)).toBe(false);
    });

    test('outlives its server, and has one of 20 answers of another', async () => {
      const stage = await createStage(cli);
      const id = await stage.start(script, asking);
      const ask = await askOf(stage.server, id);
      stage.server.child.kill('SIGKILL');
      await stage.server.exited;
      await stage.serve();
      expect(await askOf(stage.server, id)).toBe(ask);
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          answer(stage, ask, { decision: n % 2 ? 'deny' : 'allow' })
        )
      );
      const codes = answers.map(({ data }) => data.error_code);
      const winner = codes.indexOf(undefined);
      expect(codes.toSpliced(winner, 1)).toEqual(
        Array(19).fill('already_answered')
      );
      expect(await stage.result(id)).toMatchObject({ status: 'completed' });
      expect(isMade(stage)).toBe(winner % 2 === 0);
    });

    test('does what it was answered, when its time is over meanwhile', async () => {
      const stage = await createStage(cli);
      const id = await stage.start(script, { ...asking, ask_timeout: 2 });
      const ask = await askOf(stage.server, id);
      const { expires_at } = askFileOf(stage, id);
      await delay(Date.parse(expires_at) - Date.now() - 20);
      const { data } = await answer(stage, ask, { decision: 'allow' });
      expect(await stage.result(id)).toMatchObject({ status: 'completed' });
      expect(['answered', 'ask_expired']).toContain(
        data.error_code ?? data.status
      );
      expect(isMade(stage)).toBe(data.status === 'answered');
    });

    test('asks a question that is answered after 75 s', async () => {
      const stage = await createStage(cli);
      const question = JSON.stringify({ question: 'Tabs?' });
      const id = await stage.start(
        `[[mcp: troupe-ask ask_coordinator ${question}]] [[say: Done.]]`,
        asking
      );
      const ask = await askOf(stage.server, id);
      await delay(75_000);
      const text = 'spaces only';
      const { data } = await answer(stage, ask, { text });
      expect(data).toMatchObject({ status: 'answered' });
      expect(await stage.result(id)).toMatchObject({ result: 'Done.' });
      expect(stage.bodies().at(-1)).toContain(text);
    }, 150_000);

    test('goes on waiting after a wrong answer, and keeps the first right one', async () => {
      const stage = await createStage(cli);
      const id = await stage.start(script, asking);
      const ask = await askOf(stage.server, id);
      const wrong = await Promise.all([
        answer(stage, ask, { text: 'yes' }),
        answer(stage, `${id}-9`, { decision: 'allow' })
      ]);
      expect(wrong.map(({ data }) => data.error_code)).toEqual([
        'invalid_input',
        'unknown_ask'
      ]);
      await answer(stage, ask, { decision: 'deny' });
      const second = await answer(stage, ask, { decision: 'allow' });
      expect(second.data).toMatchObject({ error_code: 'already_answered' });
      await stage.result(id);
      expect(isMade(stage)).toBe(false);
    });

    test('cannot answer its own ask with a command that it may run', async () => {
      const stage = await createStage(cli);
      stage.workspace.write('answerer.cjs', answerer);
      const command = `"${process.execPath}" answerer.cjs`;
      const id = await stage.start(
        `[[escalate: ${command}]] ${script}`,
        asking
      );
      const first = await askOf(stage.server, id);
      await answer(stage, first, { decision: 'allow' });
      const second = await askOf(stage.server, id);
      const said = join(stage.workspace.path, 'said');
      await until('its own answer', () => existsSync(said));
      expect(readFileSync(said, 'utf8')).toContain('not_yours');
      expect(isMade(stage)).toBe(false);
      const mine = await answer(stage, second, { decision: 'deny' });
      expect(mine.data).toMatchObject({ status: 'answered' });
      await stage.result(id);
      expect(isMade(stage)).toBe(false);
    });

    test('edits at write, and asks for a command', async () => {
      const stage = await createStage(cli);
      const id = await stage.start(
        '[[write: a.txt | hi]] [[escalate: node -e 1]] [[say: Done.]]',
        { ...asking, access: 'write' }
      );
      const asks = await asksOf(stage.server, [id]);
      expect(asks).toMatchObject([{ tool: shell, command: 'node -e 1' }]);
      expect(existsSync(join(stage.workspace.path, 'a.txt'))).toBe(true);
      await answer(stage, asks[0]?.ask_id, { decision: 'deny' });
      await stage.result(id);
    });

    test('goes on in its session, and asks there too', async () => {
      const stage = await createStage(cli);
      // Copilot keeps its sessions where its user has some already.
      await stage.run('[[say: Before.]]');
      const id = await stage.start('[[say: First.]]', asking);
      expect(await stage.result(id)).toMatchObject({ result: 'First.' });
      // Gemini CLI cannot load a session within the minute of its last turn.
      const next = await stage.resume(id, script, 150);
      const ask = await askOf(stage.server, next);
      await answer(stage, ask, { decision: 'allow' });
      expect(await stage.result(next)).toMatchObject({ result: 'Done.' });
      expect(isMade(stage)).toBe(true);
    });

    test('ends its ask when it is canceled', async () => {
      const stage = await createStage(cli);
      const id = await stage.start(script, asking);
      const ask = await askOf(stage.server, id);
      await stage.server.call('cancel_agent', { agent_id: id });
      const late = await answer(stage, ask, { decision: 'allow' });
      expect(late.data).toMatchObject({ error_code: 'ask_expired' });
      expect(await stage.result(id)).toMatchObject({ status: 'canceled' });
      expect(isMade(stage)).toBe(false);
    });

    for (const level of [access, 'full'])
      test(`asks a question, with ${level} access`, async () => {
        const stage = await createStage(cli);
        const question = JSON.stringify({ question: 'Tabs?' });
        const id = await stage.start(
          `[[mcp: troupe-ask ask_coordinator ${question}]] [[say: Done.]]`,
          { ...asking, access: level }
        );
        const asks = await asksOf(stage.server, [id]);
        expect(asks).toMatchObject([{ kind: 'question', question: 'Tabs?' }]);
        await answer(stage, asks[0]?.ask_id, { text: 'spaces only' });
        expect(await stage.result(id)).toMatchObject({ status: 'completed' });
        expect(stage.bodies().at(-1)).toContain('spaces only');
      });
  });
}

/** The process that waits for the answer to a run's first ask. */
export function bridgeOf(stage: Stage, id: string): number {
  return askFileOf(stage, id).bridge.pid;
}

/** A run's first ask, as it was written down. */
function askFileOf(
  { workspace }: Stage,
  id: string
): {
  bridge: { pid: number };
  expires_at: string;
} {
  const file = join(workspace.record, 'spawns', id, 'asks', '1.json');
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** The processes of an agent's real CLI, without those of ours. */
function programsOf(id: string): number[] {
  const programs = processesOf(id).filter((pid) => {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return words.includes(cliFolder) && !words.includes('troupe.cjs');
  });
  expect(programs).not.toEqual([]);
  return programs;
}

/** Whether the command of the script has run. */
export function isMade({ workspace }: Stage): boolean {
  return existsSync(join(workspace.path, 'made'));
}
