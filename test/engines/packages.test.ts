import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { blocksOf, documentAt } from '../kit/judges/documents.ts';
import type { Turn } from '../model-server/actions.ts';
import { idIn } from './client-stage.ts';
import { claude, codex, copilot, geminiCli, testWith } from './clis.ts';
import {
  createPackagedClient,
  order,
  type PackagedClient,
  task
} from './packaged-client.ts';

const commands = ['council', 'delegate', 'second-opinion', 'squad'];

/** What the model does that was asked to delegate the task. */
function delegating(server: string) {
  const mcp = (tool: string, args: object) =>
    ({ do: 'mcp', server, tool, arguments: args }) as const;
  return (turn: Turn) => [
    mcp('spawn_rehearsal', { prompt: 'say forty-two' }),
    mcp('wait_for_agents', { agent_ids: [idIn(turn.toolResults[0] ?? '')] }),
    { do: 'say', text: `It said: ${turn.toolResults.at(-1)}` } as const
  ];
}

/** The model had the whole prompt, and its answer came from an agent. */
function hasDelegated({ model, workspace }: PackagedClient, answer: string) {
  const asked = model.requests
    .map(({ body }) => JSON.stringify(body))
    .filter((body) => body.includes(task))
    .join('\n');
  expect(asked).toContain(order);
  expect(asked).not.toMatch(/\$ARGUMENTS|\{\{args/);
  expect(answer).toMatch(/It said:.*forty-two/s);
  const log = readFileSync(join(workspace.path, 'logs/IAC.md'), 'utf8');
  expect(log).toContain('say forty-two');
}

describe('the plugin in Claude Code', () => {
  const test = testWith(claude);

  test('passes its validator, and that of its directory', async () => {
    const user = await createPackagedClient(() => []);
    const plugin = join(user.folder, 'integrations/plugin');
    const validate = ['plugin', 'validate'];
    await user.run('claude', [...validate, '--strict', user.folder]);
    await user.run('claude', [...validate, '--strict', plugin]);
    await user.run('claude', [...validate, '--profile', 'directory', plugin]);
  });

  test('is installed from the npm package, and delegates on request', async () => {
    const user = await createPackagedClient(delegating('plugin_troupe_agents'));
    const plugin = ['plugin', 'marketplace', 'add', user.folder];
    await user.run('claude', plugin);
    await user.run('claude', ['plugin', 'install', 'troupe@troupe']);
    const shown = await user.run('claude', ['plugin', 'details', 'troupe']);
    expect(shown).toContain(commands.join(', '));
    const answer = await user.run('claude', [
      ...['-p', `/troupe:delegate ${task}`],
      '--dangerously-skip-permissions'
    ]);
    hasDelegated(user, answer);
  });
});

describe('the plugin in Codex', () => {
  const test = testWith(codex);

  test('is installed from the npm package, and delegates on request', async () => {
    const user = await createPackagedClient(delegating('agents'));
    await user.run('codex', ['plugin', 'marketplace', 'add', user.folder]);
    await user.run('codex', ['plugin', 'add', 'troupe@troupe']);
    const server = await user.run('codex', ['mcp', 'get', 'agents', '--json']);
    expect(server).toMatch(/"tool_timeout_sec": 600/);
    appendFileSync(
      join(user.workspace.home, '.codex/config.toml'),
      blocksOf(documentAt('docs/start/packages.md'), 'toml').join('\n')
    );
    const answer = await user.run('codex', [
      ...['exec', '--skip-git-repo-check'],
      ...['-c', `openai_base_url=${JSON.stringify(user.model.url)}`],
      `$troupe:delegate ${task}`
    ]);
    hasDelegated(user, answer);
  });
});

describe('the plugin in Copilot CLI', () => {
  const test = testWith(copilot);

  test('is installed from the npm package, and delegates on request', async () => {
    const user = await createPackagedClient((turn) =>
      // The skill comes as a message of its own.
      turn.prompt.includes(task)
        ? [{ do: 'tool', name: 'skill', arguments: { skill: 'delegate' } }]
        : delegating('agents')(turn)
    );
    await user.run('copilot', ['plugin', 'marketplace', 'add', user.folder]);
    await user.run('copilot', ['plugin', 'install', 'troupe@troupe']);
    expect(await user.run('copilot', ['mcp', 'list'])).toContain('agents');
    const answer = await user.run('copilot', [
      '-p',
      `Use the skill delegate: ${task}`,
      '--allow-all',
      '--no-color'
    ]);
    hasDelegated(user, answer);
  });
});

describe('the extension in Gemini CLI', () => {
  const test = testWith(geminiCli);

  test('is installed from the npm package, and delegates on request', async () => {
    const user = await createPackagedClient(delegating('agents'));
    const folder = join(user.folder, 'integrations/gemini');
    await user.run('gemini', ['extensions', 'validate', folder]);
    const install = ['extensions', 'install', '--consent', folder];
    await user.run('gemini', install, 'y\n');
    expect(await user.run('gemini', ['mcp', 'list'])).toMatch(
      /agents \(from troupe\).*Connected/
    );
    const answer = await user.run('gemini', [
      '-p',
      `/troupe:delegate ${task}`,
      '--approval-mode',
      'yolo'
    ]);
    hasDelegated(user, answer);
  });
});
