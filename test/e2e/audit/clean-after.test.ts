import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { idOf, makeUp } from '../../kit/agents/made-up-agents.ts';
import { parseIac } from '../../kit/judges/iac-parser.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
  workspace.write('.trouperc.json', '{"engines": {"rehearsal": true}}');
});

afterEach(() => workspace.remove());

const clean = (...args: string[]) => runCommand(workspace, ['clean', ...args]);

const place = (name: string) => join(workspace.record, name);

const isHash = (name: string) => /^[0-9a-f]{32}$/.test(name);

describe('after a clean', () => {
  test('the log, its views and the answers say what is gone', async () => {
    const run = (prompt: string) =>
      runCommand(workspace, ['run', 'rehearsal', '-', '--json'], {
        stdin: prompt
      });
    const { stdout } = await run(
      `say kept\n${'# a long prompt\n'.repeat(4000)}`
    );
    const { agent_id: id } = JSON.parse(stdout);
    const { stdout: other } = await run('say shorter');
    const { agent_id: second } = JSON.parse(other);
    const done = await clean('--keep', '0', '--json', '--yes');
    expect(JSON.parse(done.stdout)).toMatchObject({
      dry_run: false,
      removed: [{ agent_id: id }, { agent_id: second }],
      bytes_left: 0,
      problems: []
    });
    const troupe = (...args: string[]) => runCommand(workspace, args);
    const log = await troupe('log');
    expect(log.stdout).toMatch(
      new RegExp(`cleaned +${id} +rehearsal +\\d+ KB`)
    );
    expect((await troupe('log', '--verify')).code).toBe(0);
    expect((await troupe('list')).stderr).toContain('There are no agents');
    const result = await troupe('result', id, '--json');
    expect(result.code).toBe(1);
    expect(JSON.parse(result.stdout)).toMatchObject({
      status: 'not_found',
      message: expect.stringMatching(
        /had ended and was removed \(troupe clean\) at 20\d\d-/
      )
    });
    const iac = readFileSync(join(workspace.path, 'logs/IAC.md'), 'utf8');
    const { entries } = parseIac(iac);
    expect(entries.map((entry) => entry.id)).toEqual([second, id]);
    expect(entries[1]?.input.text).toMatch(
      /^\(the text was in spawns\/\w+\/prompt\.txt, which is gone: it was cleaned away, 20\d\d-.*UTC\)$/
    );
    expect(entries[0]?.input.text).toBe('say shorter');
  });

  test('a patch that a result named is kept, and found', async () => {
    const id = idOf(1);
    makeUp(workspace.record, {
      ...{ agent_id: id, daysAgo: 1, read: true, patch: 'the patch\n' }
    });
    await clean('--keep', '0', '--yes');
    const kept = place(`diffs/${id}.diff`);
    expect(readFileSync(kept, 'utf8')).toBe('the patch\n');
    const { stderr } = await runCommand(workspace, ['result', id]);
    expect(stderr).toContain(`is kept: ${kept}`);
  });

  test('a request id of an agent that is gone starts one with another id', async () => {
    const server = await startServer(workspace);
    const ask = async () => {
      const args = { prompt: 'say hi', request_id: 'r1' };
      const { data } = await server.call('spawn_rehearsal', args);
      return String(data.agent_id);
    };
    const id = await ask();
    await server.call('wait_for_agents', { agent_ids: [id] });
    await clean('--keep', '0', '--yes');
    const second = await ask();
    expect(second).not.toBe(id);
    expect(await ask()).toBe(second);
    const gone = await server.call('continue_agent', {
      agent_id: id,
      prompt: 'x'
    });
    expect(gone.data.error).toContain('was removed (troupe clean)');
    await server.close();
  });

  test('a repeated request id returns the turn itself', async () => {
    const server = await startServer(workspace);
    const call = async (name: string, args: object) => {
      const { data } = await server.call(name, { ...args });
      await server.call('wait_for_agents', { agent_ids: [data.agent_id] });
      return String(data.agent_id);
    };
    const first = await call('spawn_rehearsal', { prompt: 'say a' });
    const on = { agent_id: first, prompt: 'say on', request_id: 'on' };
    const second = await call('continue_agent', on);
    expect((await clean(second, '--yes')).code).toBe(0);
    const third = await call('continue_agent', on);
    expect(third).not.toBe(second);
    const session = readdirSync(place('sessions')).find(isHash);
    const turns = () => readdirSync(place(`sessions/${session}`)).sort();
    const holderOf = (turn: string) =>
      readFileSync(place(`sessions/${session}/${turn}`), 'utf8');
    expect(turns().map(holderOf)).toEqual([second, third]);
    expect(await call('continue_agent', on)).toBe(third);
    expect(turns()).toHaveLength(2);
    await server.close();
  });
});
