import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const secret = 'TOP-SECRET-KEY-MATERIAL';

let workspace: TempWorkspace;
let server: McpClient | undefined;
let victim: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  victim = join(workspace.home, 'victim');
  writeFileSync(victim, secret);
  workspace.write('.trouperc.json', '{"engines": {"rehearsal": true}}');
});

afterEach(async () => {
  if (server) expect(server.impurities).toEqual([]);
  await server?.close();
  server = undefined;
  workspace.remove();
});

const at = (...names: string[]) => join(workspace.path, ...names);

function link(target: string, name: string): void {
  mkdirSync(dirname(at(name)), { recursive: true });
  rmSync(at(name), { force: true });
  symlinkSync(target, at(name));
}

describe('a link out of the workspace is not followed', () => {
  test('attack: a role is a link to a secret', async () => {
    link(victim, 'agents/helper.md');
    server = await startServer(workspace);
    const { text } = await server.call('list_roles');
    expect(text).not.toContain('helper');
    expect(server.stderr).toContain(
      'it is a link that leads outside the workspace'
    );
    const members = [{ roleId: 'helper', task: 'Say it.' }];
    const started = await server.call('start_squad_members', { members });
    expect(started.isError).toBe(true);
  });

  test('attack: the directory of roles is a link to notes of the user', async () => {
    writeFileSync(join(workspace.home, 'private-note.md'), secret);
    link(workspace.home, 'agents');
    server = await startServer(workspace);
    const { text } = await server.call('list_roles');
    expect(text).toContain('it is a link that leads outside the workspace');
    expect(text).not.toContain(secret);
    expect(text).not.toContain('private-note');
    const words = ['__complete', '--', 'roles', ''];
    const { stdout } = await runCommand(workspace, words);
    expect(stdout).toContain('debugger');
    expect(stdout).not.toContain('private-note');
  });

  test.each(['.trouperc.json', 'troupe.config.yaml', 'package.json'])(
    'attack: %s is a link to a file of the user',
    async (name) => {
      rmSync(at('.trouperc.json'));
      writeFileSync(victim, '{"troupe": {"maxDepth": 9}, "maxDepth": 9}');
      link(victim, name);
      const { code, stderr, stdout } = await runCommand(workspace, ['config']);
      expect(code).toBe(1);
      expect(stderr).toContain('it is a link that leads outside the workspace');
      expect(stdout).toBe('');
    }
  );

  test('attack: api_keys.json is a link to a file of the user', async () => {
    writeFileSync(victim, `{"XAI_API_KEY": "${secret}"}`, { mode: 0o600 });
    link(victim, 'api_keys.json');
    server = await startServer(workspace);
    const { data } = await server.call('spawn_grok', { prompt: 'hi' });
    expect(data.error_code).toBe('not_logged_in');
    expect(server.stderr).toContain('it is a link that leads outside');
  });

  test('attack: logs/IAC.md is a link to a secret, which a resource would show', async () => {
    server = await startServer(workspace);
    const { data } = await server.call('spawn_rehearsal', { prompt: 'say x' });
    const agent_ids = [data.agent_id];
    await server.call('wait_for_agents', { agent_ids });
    link(victim, 'logs/IAC.md');
    const shown = await server
      .request('resources/read', { uri: 'troupe://log/IAC.md' })
      .then(
        (answer) => JSON.stringify(answer),
        (error: unknown) => String(error)
      );
    expect(shown).not.toContain(secret);
    expect(readFileSync(victim, 'utf8')).toBe(secret);
  });

  test('attack: a file of a question is a link to a secret', async () => {
    link(victim, 'notes.txt');
    server = await startServer(workspace);
    const { data, isError } = await server.call('second_opinion', {
      question: 'Good?',
      context_files: ['notes.txt']
    });
    expect(isError).toBe(true);
    expect(data.error).toContain('is not a file inside the workspace');
  });

  test('attack: the settings of a client are a link to a file of the user', async () => {
    writeFileSync(victim, '{"mine": 1}');
    link(victim, '.mcp.json');
    const flags = ['init', 'claude', '--yes'];
    const { stdout, stderr } = await runCommand(workspace, flags);
    expect(stdout + stderr).toContain('is a link that leads outside');
    expect(readFileSync(victim, 'utf8')).toBe('{"mine": 1}');
  });
});

describe('a file with a second name is not written to', () => {
  test.each(['iac.jsonl', 'counts/sizes', 'counts/spawn-times'])(
    'attack: %s in the record is a hard link to a file of the user',
    async (name) => {
      const path = join(workspace.record, name);
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      linkSync(victim, path);
      server = await startServer(workspace);
      const { data } = await server.call('spawn_rehearsal', {
        prompt: 'say x'
      });
      expect(data).toMatchObject({
        error_code: 'state_unsafe',
        error: expect.stringContaining(`${path} has another name`)
      });
      expect(readFileSync(victim, 'utf8')).toBe(secret);
    }
  );
});

describe('a FIFO is not waited for', () => {
  test.each([
    ['agents/helper.md', ['roles']],
    ['package.json', ['config']],
    ['api_keys.json', ['engines']],
    ['.mcp.json', ['init', 'claude', '--dry-run']],
    ['.agents-template', ['roles']]
  ])('attack: %s in a project is a FIFO', async (name, args) => {
    if (name === '.agents-template')
      workspace.write(
        '.trouperc.json',
        `{"engines": {"rehearsal": true}, "squad": {"runTemplatePath": "${name}"}}`
      );
    mkdirSync(dirname(at(name)), { recursive: true });
    execFileSync('mkfifo', [at(name)]);
    const began = performance.now();
    await runCommand(workspace, args);
    expect(performance.now() - began).toBeLessThan(5000);
  });
});

describe('a relative entry of PATH is no place to look for a program', () => {
  /** A program of the project that says that it ran. */
  function plant(name: string): void {
    const file = workspace.write(name, `#!/bin/sh\ntouch '${victim}.ran'\n`);
    chmodSync(file, 0o755);
  }

  /** The standard directories come last. */
  const env = (first: string) => ({ PATH: `${first}/usr/bin:/bin` });

  test.each(['.:', ':', './:', 'tools:'])(
    'attack: PATH begins with "%s", and the project holds a claude',
    async (first) => {
      plant('claude');
      plant('tools/claude');
      server = await startServer(workspace, { env: env(first) });
      const { data } = await server.call('spawn_claude', { prompt: 'hi' });
      expect(data.error_code).toBe('not_installed');
      expect(existsSync(`${victim}.ran`)).toBe(false);
    }
  );

  test.each(['git', 'node', 'sh', 'sleep', 'wc', 'env'])(
    'attack: PATH begins with ".", and the project holds a %s',
    async (name) => {
      plant(name);
      execFileSync('git', ['init', '--quiet'], { cwd: workspace.path });
      writeFileSync(
        join(workspace.bin, 'claude'),
        '#!/usr/bin/env sh\nsleep 0; echo "{}" | wc -c; sh -c true; env true\n',
        { mode: 0o755 }
      );
      const path = `.:${workspace.bin}:/usr/bin:/bin`;
      server = await startServer(workspace, { env: { PATH: path } });
      const { data } = await server.call('spawn_claude', { prompt: 'hi' });
      const agent_ids = [data.agent_id];
      await server.call('wait_for_agents', { agent_ids });
      expect(existsSync(`${victim}.ran`)).toBe(false);
    }
  );
});
