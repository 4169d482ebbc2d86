import { expect, onTestFinished } from 'vitest';
import { markOf } from '../../src/core/audit/views/view-file.ts';
import { identityOf } from '../../src/core/paths/records.ts';
import { createTempWorkspace } from '../kit/workspaces/temp-workspace.ts';
import { startModelServer } from '../model-server/server.ts';
import { runClient } from './client-session.ts';
import { type Client, claudeClient, geminiClient } from './clients.ts';
import { claude, geminiCli, testWith } from './clis.ts';

const heading = '# Inter-Agent Communication (IAC)';

/** What the model of a client is asked when its user types a line. */
async function askedWith(client: Client, line: string): Promise<string> {
  return (await requestsFor(client, line)).prompt;
}

/** The last prompt, and all that the model was sent with it. */
async function requestsFor(client: Client, line: string) {
  const prompts: string[] = [];
  const workspace = createTempWorkspace();
  // As a server leaves it.
  const mark = markOf('IAC.md', 'IAC', identityOf(workspace.paths));
  workspace.write('logs/IAC.md', `${heading}\n\n${mark}\n`);
  const model = await startModelServer({
    script: ({ prompt }) => {
      prompts.push(prompt);
      return [{ do: 'say', text: 'Asked.' }];
    }
  });
  onTestFinished(async () => {
    await model.close();
    workspace.remove();
  });
  const flags = ['--engines', 'rehearsal'];
  const session = { workspace, model, prompt: line, flags };
  expect(await runClient(client, session)).toBe('Asked.');
  const { requests } = model;
  return { prompt: prompts.at(-1) ?? '', sent: JSON.stringify(requests) };
}

testWith(claude)(
  'Claude Code has a prompt as a command, with the whole line',
  async () => {
    const line = 'Fix the parser of dates, and test it';
    const command = `/mcp__agents__delegate ${line}`;
    const asked = await askedWith(claudeClient, command);
    expect(asked).toContain(`<command-args>${line}</command-args>`);
    expect(asked).toContain('```text\nFix the parser\n```');
    expect(asked).toContain('The whole line is in `<command-args>` above');
  }
);

testWith(geminiCli)(
  'Gemini CLI has a prompt as a command, with all arguments',
  async () => {
    const whole = '/delegate Fix the parser of dates, and test it';
    expect(await askedWith(geminiClient, whole)).toContain(
      '```text\\nFix the parser of dates, and test it\\n```'
    );
    const named = '/squad --task="Fix the parser" --roles=debugger';
    const asked = await askedWith(geminiClient, named);
    expect(asked).toContain('```text\\nFix the parser\\n```');
    expect(asked).toContain('- Roles: `debugger`');
  }
);

testWith(geminiCli)(
  'Gemini CLI puts the log into a conversation that names it',
  async () => {
    const line = 'Who was asked? @agents:troupe://log/IAC.md';
    const { sent } = await requestsFor(geminiClient, line);
    expect(sent).toContain(heading);
  }
);
