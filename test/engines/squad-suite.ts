import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { processesOf } from '../kit/agents/probe-agent.ts';
import { until } from '../kit/judges/until.ts';
import {
  type MemberAnswer,
  startSquad,
  waitForSquad
} from '../kit/servers/squad-call.ts';
import { type RealCli, testWith } from './clis.ts';
import {
  createSquadStage,
  exitCodeOf,
  listed,
  member,
  note,
  outputOf,
  resultOf,
  squad,
  task,
  testerBrief
} from './squad-stage.ts';

const uuid = /^[0-9a-f-]{36}$/;

const footer = `---

# Setup & Reporting Rules

If you notice any setup or environment problems that prevent you from completing your task,
you MUST clearly report them as SETUP / ENVIRONMENT ISSUES.

Explain what you observed and suggest specific steps for the human to fix.
Do not pretend the task succeeded if the environment blocks you.`;

interface Ways {
  /** What it does in place of going on in a chat that is not there. */
  missingChat?: 'fails' | 'begins another';
}

/** Members of squads that run on a real CLI. */
export function squadSuite(
  cli: RealCli,
  { missingChat = 'fails' }: Ways = {}
): void {
  const test = testWith(cli);
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

  describe('a squad', () => {
    test('a new chat is told the role, and goes on with the task alone', async () => {
      const stage = await createSquadStage(cli, { STATE_MODE: 'stateful' });
      const first = await member(stage, 'Remember 4711. [[say: I will.]]');
      expect(first).toMatchObject({ status: 'completed', result: 'I will.' });
      expect(first.chatId).toMatch(uuid);
      expect(first).toMatchObject(outputOf(stage, first));
      const { chatId } = first;
      const second = await member(stage, 'And? [[say: 4711.]]', chatId);
      expect(second).toMatchObject({
        status: 'completed',
        result: '4711.',
        chatId
      });
      expect(stage.turns().map(({ prompt }) => prompt)).toEqual([
        `# Role\n\n${testerBrief}\n\n---\n\n# Initial Task\n\nRemember 4711. [[say: I will.]]\n\n${footer}`,
        `# Task\n\nAnd? [[say: 4711.]]\n\n${footer}`
      ]);
      const told = stage.bodies().at(-1) ?? '';
      for (const part of ['Remember 4711.', 'I will.', 'And?'])
        expect(told).toContain(part);
      expect(told.split('You test what others wrote.')).toHaveLength(2);
      expect(await resultOf(stage, second)).toMatchObject({ usage });
    });

    test('a chat goes on in the next server, one member after the other', async () => {
      const stage = await createSquadStage(cli, { STATE_MODE: 'stateful' });
      const { chatId } = await member(stage, '[[say: One.]]');
      await stage.server.close();
      await stage.serve();
      const members = await squad(stage, [
        task('[[sleep: 300]] [[say: Two.]]', chatId),
        task('[[say: Three.]]', chatId)
      ]);
      expect(members).toMatchObject([
        { status: 'completed', result: 'Two.', chatId },
        { status: 'completed', result: 'Three.', chatId }
      ]);
      const bodies = stage.bodies();
      const last = bodies.find((body) => body.includes('say: Three.'));
      for (const said of ['say: One.', 'say: Two.'])
        expect(last).toContain(said);
      for (const one of members)
        expect(await resultOf(stage, one)).toMatchObject({ usage });
    });

    test('a chat that is not there is not passed off as one that goes on', async () => {
      const stage = await createSquadStage(cli, { STATE_MODE: 'stateful' });
      const chatId = 'no-such-chat';
      const one = await member(stage, '[[say: Hm.]]', chatId);
      if (missingChat === 'begins another')
        expect(one).toMatchObject({
          status: 'completed',
          chatId: expect.stringMatching(uuid),
          message: expect.stringContaining(`chat "${chatId}"`)
        });
      else {
        expect(one).toMatchObject({
          status: 'error',
          error_code: 'spawn_failed',
          chatId
        });
        expect(stage.bodies()).toEqual([]);
      }
    });

    test('works side by side, and one that fails harms no other', async () => {
      const stage = await createSquadStage(cli);
      const members = await squad(stage, [
        // Ends last, so that the order is not that of the ends.
        task(`${meeting('one', 'other')} [[sleep: 500]] [[say: First.]]`),
        task('[[status: 400 | Bad]]'),
        task(`${meeting('other', 'one')} [[say: Third.]]`)
      ]);
      expect(members).toMatchObject([
        { status: 'completed', result: 'First.' },
        { status: 'error', result: '', error_code: 'provider_error' },
        { status: 'completed', result: 'Third.' }
      ]);
      // Each has seen the other while both were at work.
      const { path } = stage.workspace;
      for (const name of ['one', 'other'])
        expect(existsSync(join(path, `${name}.met`)), name).toBe(true);
      expect(stage.turns()[0]?.prompt).toContain(
        `# Role\n\n${testerBrief}\n\n---\n\n# Task\n\n`
      );
      for (const one of members) {
        expect(one).not.toHaveProperty('chatId');
        expect(one.status === 'completed').toBe(exitCodeOf(stage, one) === 0);
        expect(one).toMatchObject({
          rawStderr: outputOf(stage, one).rawStderr
        });
        expectVerbatim(one, outputOf(stage, one).rawStdout);
      }
    });

    test('a role says which model its members have, and what they may do', async () => {
      const stage = await createSquadStage(cli);
      stage.workspace.write(
        'agents/reader.md',
        '---\nmodel: my-model\naccess: read\n---\nYou only look.\n'
      );
      const file = join(stage.workspace.path, 'no.txt');
      const told = `[[shell: echo no > ${file}]] [[say: I may not.]]`;
      const [one] = await squad(stage, [{ roleId: 'reader', task: told }]);
      expect(one).toMatchObject({ status: 'completed', result: 'I may not.' });
      expect(existsSync(file)).toBe(false);
      const models = stage.turns().map(({ model }) => model);
      expect(new Set(models)).toEqual(new Set(['my-model']));
    });

    test('a member is canceled in the middle of a tool, and no other', async () => {
      const stage = await createSquadStage(cli);
      const file = join(stage.workspace.path, 'pid');
      // Gemini CLI takes "sh -c" off the beginning of a command.
      const command = `:; sh -c 'echo $$ >${file}; tail -f /dev/null; :'`;
      const ending = startSquad(stage.server, [
        task(`[[shell: ${command}]] [[say: Never.]]`),
        task('[[say: Done.]]')
      ]);
      await until('the tool', () => existsSync(file) || undefined, 30_000);
      const id = await until('one at work', async () => {
        const { running, squadIds } = await listed(stage);
        return squadIds.length === 1 ? running[0] : undefined;
      });
      await stage.server.call('cancel_agent', { agent_id: id });
      expect(processesOf(id)).toEqual([]);
      const { squadId, members } = await ending;
      expect(members).toMatchObject([
        { status: 'canceled', result: '', agentId: id },
        { status: 'completed', result: 'Done.' }
      ]);
      const results = await waitForSquad(stage.server, squadId);
      expect(results.map(({ status }) => status).sort()).toEqual([
        'canceled',
        'completed'
      ]);
      note(stage, members);
    });

    test('PROCESS_TIMEOUT_MS ends a member, and nothing is left', async () => {
      const stage = await createSquadStage(cli, { PROCESS_TIMEOUT_MS: '3000' });
      const one = await member(stage, '[[say: Half an ans]] [[hang]]');
      expect(one).toMatchObject({ status: 'timeout', error_code: 'timeout' });
      const none = () => processesOf(one.agentId).length === 0 || undefined;
      await until('the end of its processes', none);
    });
  });
}

/** Waits in a tool until the other one is there, and notes that it came. */
function meeting(own: string, other: string): string {
  return `[[shell: : > ${own}; until [ -e ${other} ]; do sleep 0.1; done; : > ${own}.met]]`;
}

/** All of it, or the two ends that there was room for. */
function expectVerbatim(one: MemberAnswer, whole: string): void {
  const [beginning = '', end] = one.rawStdout.split('\n\n… [cut] …\n\n');
  if (end === undefined) expect(beginning).toBe(whole);
  else {
    expect(whole.startsWith(beginning)).toBe(true);
    expect(whole.endsWith(end)).toBe(true);
    expect(one.rawStdout_bytes).toBe(Buffer.byteLength(whole));
  }
}
