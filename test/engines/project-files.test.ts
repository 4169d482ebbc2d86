import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { gitIn } from '../kit/workspaces/git-workspace.ts';
import {
  claude,
  codex,
  copilot,
  geminiCli,
  type RealCli,
  testWith
} from './clis.ts';
import { createStage } from './stage.ts';

/** What a project's own files, and an agent that may edit, bring about. */
interface Facts {
  /** Its hooks run, whatever the access. */
  runsHooks: boolean;
  /** The servers that it names are started. */
  startsServers: boolean;
  /** With access `write` an agent may change all settings but these. */
  guards: string[];
}

const guarded: [cli: RealCli, facts: Facts][] = [
  [
    claude,
    {
      runsHooks: true,
      startsServers: true,
      guards: ['.claude/settings.json', '.mcp.json', '.git/hooks/post-merge']
    }
  ],
  [
    codex,
    {
      runsHooks: false,
      startsServers: false,
      guards: [
        '.codex/config.toml',
        '.agents/notes.txt',
        '.git/hooks/post-merge'
      ]
    }
  ],
  [copilot, { runsHooks: false, startsServers: false, guards: [] }],
  [
    geminiCli,
    { runsHooks: true, startsServers: false, guards: ['.git/hooks/post-merge'] }
  ]
];

/** What some program or troupe itself would run later. */
const settings = [
  '.claude/settings.json',
  '.mcp.json',
  '.gemini/settings.json',
  '.codex/config.toml',
  '.trouperc.json',
  '.agents/notes.txt',
  '.git/hooks/post-merge'
];

describe.each(guarded)('$name in a project', (cli, facts) => {
  const test = testWith(cli);

  for (const access of ['read', 'write'])
    test(`at ${access} heeds the project's files as configured`, async () => {
      const stage = await createStage(cli);
      const { home } = stage.workspace;
      const touch = (name: string) => `touch ${join(home, name)}`;
      const hook = { type: 'command', command: touch('hooked') };
      const hooks = {
        SessionStart: [{ matcher: '*', hooks: [hook] }],
        sessionStart: [{ type: 'command', bash: touch('hooked') }]
      };
      const server = { command: 'touch', args: [join(home, 'served')] };
      const write = (name: string, value: unknown) =>
        stage.workspace.write(name, JSON.stringify(value));
      write('.claude/settings.json', { hooks });
      write('.gemini/settings.json', { hooks, tools: { enableHooks: true } });
      write('.github/hooks/hooks.json', { version: 1, hooks });
      write('.codex/hooks.json', { hooks });
      write('.mcp.json', { mcpServers: { evil: server } });
      const table = `[mcp_servers.evil]\ncommand = "touch"\n`;
      const servers = `${table}args = ["${join(home, 'served')}"]\n`;
      stage.workspace.write('.codex/config.toml', servers);
      const { asked, address, close } = await listening();
      const prompt = `[[shell: curl -s -m 3 ${address}]] [[say: Done.]]`;
      const result = await stage.run(prompt, { access });
      close();
      expect(result).toMatchObject({ success: true, result: 'Done.' });
      expect({
        runsHooks: existsSync(join(home, 'hooked')),
        startsServers: existsSync(join(home, 'served')),
        hasNetwork: asked() > 0
      }).toEqual({
        runsHooks: facts.runsHooks,
        startsServers: facts.startsServers,
        hasNetwork: false
      });
    });

  test('at write guards settings of its own at best', async () => {
    const stage = await createStage(cli);
    const { path } = stage.workspace;
    const mark = 'changed by an agent';
    gitIn(path, 'init', '--quiet');
    // Not every program makes directories.
    for (const name of settings)
      stage.workspace.write(join(dirname(name), 'here.txt'), '');
    const writes = settings.map((name) => {
      const file = join(path, name);
      return cli === codex
        ? `[[shell: mkdir -p ${dirname(file)}; echo ${mark} > ${file}]]`
        : `[[write: ${file} | ${mark}]]`;
    });
    const prompt = `${writes.join(' ')} [[say: Done.]]`;
    await stage.run(prompt, { access: 'write' });
    const isChanged = (name: string) =>
      existsSync(join(path, name)) &&
      readFileSync(join(path, name), 'utf8').includes(mark);
    const kept = settings.filter((name) => !isChanged(name));
    expect(kept).toEqual(facts.guards);
  });
});

testWith(codex)('Codex reads all that its user can read', async () => {
  const stage = await createStage(codex);
  const { home } = stage.workspace;
  stage.workspace.write('../home/told.txt', 'told to the model');
  const prompt = `[[shell: cat ${join(home, 'told.txt')}]] [[say: Done.]]`;
  await stage.run(prompt, { access: 'read' });
  const seen = stage.turns().at(-1)?.toolResults ?? [];
  expect(seen.join()).toContain('told to the model');
});

testWith(geminiCli)('Gemini CLI may change its own settings', async () => {
  const stage = await createStage(geminiCli);
  const file = join(stage.workspace.path, '.gemini/settings.json');
  const prompt = `[[write: ${file} | {"hooks": {}}]] [[say: Done.]]`;
  await stage.run(prompt, { access: 'write' });
  expect(existsSync(file)).toBe(true);
});

/** A server that counts its requests. */
async function listening() {
  let count = 0;
  const server = createServer((_, response) => {
    count += 1;
    response.end();
  });
  await new Promise<void>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve())
  );
  const address = server.address();
  const port = address && typeof address === 'object' ? address.port : 0;
  return {
    asked: () => count,
    address: `http://127.0.0.1:${port}/`,
    close: () => server.close()
  };
}
