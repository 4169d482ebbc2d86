import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect } from 'vitest';
import { runCommand } from '../kit/servers/command-line.ts';
import { type ClientStage, createClientStage } from './client-stage.ts';
import { allClients, type Client } from './clients.ts';
import { testWith, userEnvironment } from './clis.ts';
import { firstSteps, offersTo } from './shown.ts';

const run = promisify(execFile);

/** A file as its user has it: with comments, an order, and another server. */
interface Theirs {
  in: 'home' | 'workspace';
  file: string;
  text: string;
  /** The program's own words for the servers that it knows. */
  list: string[];
  /** What it says when it has started ours. */
  says: RegExp;
}

const theirs: Record<Client['cli']['name'], Theirs> = {
  claude: {
    in: 'workspace',
    file: '.mcp.json',
    text: '{\n\t"mcpServers": {\n\t\t"other": {"type": "stdio", "command": "true", "args": []}\n\t}\n}\n',
    list: ['mcp', 'list'],
    says: /agents: node .* ✔ Connected/
  },
  codex: {
    in: 'workspace',
    file: '.codex/config.toml',
    text: '# mine\nmodel_verbosity = "low" # why\n\n[mcp_servers.other] # theirs\ncommand = "true"',
    list: ['mcp', 'list'],
    says: /agents +node .* enabled/
  },
  'gemini-cli': {
    in: 'workspace',
    file: '.gemini/settings.json',
    text: '{\r\n  // mine\r\n  "mcpServers": {\r\n    "other": { "command": "true" } // why\r\n  },\r\n  "ui": { "hideTips": true }\r\n}\r\n',
    list: ['mcp', 'list'],
    says: /✓ .*agents: node .* Connected/
  },
  copilot: {
    in: 'home',
    file: '.copilot/mcp-config.json',
    text: '{"mcpServers": {"other": {"type": "local", "command": "true", "args": [], "tools": ["*"]}}}',
    list: ['mcp', 'list'],
    says: /agents \(local\)/
  }
};

/** What each client asks its user; the answer is yes. */
function approve(stage: ClientStage): void {
  const { path, home } = stage.workspace;
  const trusted = {
    hasTrustDialogAccepted: true,
    enabledMcpjsonServers: ['agents', 'other']
  };
  const claude = { projects: { [path]: trusted } };
  writeFileSync(join(home, '.claude.json'), JSON.stringify(claude));
  mkdirSync(join(home, '.codex'));
  writeFileSync(
    join(home, '.codex', 'config.toml'),
    `[projects.${JSON.stringify(path)}]\ntrust_level = "trusted"\n`
  );
}

for (const client of allClients)
  describe(`init for the real ${client.title}`, () => {
    const test = testWith(client.cli);
    const { file, text, list, says, in: place } = theirs[client.cli.name];

    test("has it list and start our server, next to the user's own", async () => {
      const stage = await createClientStage((turn) => [
        ...firstSteps(turn),
        { do: 'say', text: 'Seen.' }
      ]);
      const { workspace, model } = stage;
      approve(stage);
      const path = join(
        place === 'home' ? workspace.home : workspace.path,
        file
      );
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
      const init = (...flags: string[]) =>
        runCommand(workspace, ['init', client.cli.name, '--yes', ...flags]);
      expect(await init()).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(/starts in \d+ ms, \d+ tools/)
      });
      const written = readFileSync(path, 'utf8');
      const env = {
        HOME: workspace.home,
        LANG: 'C.UTF-8',
        TERM: 'dumb',
        ...userEnvironment(client.cli),
        ...client.env(model)
      };
      const { stdout, stderr } = await run(client.cli.program, list, {
        cwd: workspace.path,
        env
      });
      expect(`${stdout}${stderr}`).toMatch(says);
      expect(`${stdout}${stderr}`).toMatch(/^\W*other[ :]/m);
      await stage.run(client, { isConfigured: true });
      const names = stage.turns
        .slice(-1)
        .flatMap(offersTo)
        .map(({ name }) => name);
      for (const tool of ['spawn_claude', 'wait_for_agents', 'second_opinion'])
        expect(names).toContain(client.nameOf(tool));
      expect(readFileSync(path, 'utf8')).toBe(written);
      expect(await init('--remove')).toMatchObject({ code: 0 });
      expect(readFileSync(path, 'utf8')).toBe(text);
    });
  });

const firstTask =
  'Name the files at the top of this project and say in one sentence what it is.';
const [claudeClient] = allClients.filter(({ cli }) => cli.name === 'claude');

if (claudeClient)
  testWith(claudeClient.cli)(
    'the real claude does the first task, and its answer stands in the log',
    async () => {
      const stage = await createClientStage(
        () => [{ do: 'say', text: 'It is a project of one file.' }],
        firstTask
      );
      const { workspace, model } = stage;
      workspace.write('README.md', '# hello');
      const args = ['init', 'claude', '--yes', '--engine', 'claude'];
      const env = {
        ...userEnvironment(claudeClient.cli),
        ...claudeClient.env(model)
      };
      const { code, stdout } = await runCommand(workspace, args, { env });
      expect(stdout).toContain('It is a project of one file.');
      expect(stdout).toContain('Access: read (enforced)');
      expect(code).toBe(0);
      expect(stage.turns.length).toBeGreaterThan(0);
    }
  );
