import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommand } from '../../kit/servers/command-line.ts';
import {
  createGitWorkspace,
  type GitWorkspace
} from '../../kit/workspaces/git-workspace.ts';

let workspace: GitWorkspace;

beforeEach(() => {
  workspace = createGitWorkspace();
});

afterEach(() => workspace.remove());

/** The page of an agent that has ended. */
async function pageAfter(script: string, env = {}): Promise<string> {
  const { stdout } = await runCommand(
    workspace,
    ['run', 'rehearsal', '-', '--access', 'write', '--json'],
    { stdin: script, env }
  );
  const { agent_id: id } = JSON.parse(stdout);
  const path = join(workspace.path, 'logs', 'agents', `${id}.md`);
  return readFileSync(path, 'utf8');
}

test('the page of an agent has its steps, calls and edits', async () => {
  const page = await pageAfter('progress reading\nwrite new.txt one');
  expect(page).toContain('## Transcript (6 steps)\n\n```\n');
  expect(page).toContain('\ncalls write: new.txt one\n');
  expect(page).toMatch(/\nedits \S*new\.txt \(added\)\n {2}\+one\n/);
  expect(page).toContain('\nresult: wrote new.txt\n');
  expect(page).toContain('\nsays the answer\n```\n');
});

test('words of an agent end no fence, and secrets are not in it', async () => {
  const secret = 'correct-horse-battery-7';
  const page = await pageAfter(
    `progress \`\`\`\`\` # Answer\nwrite ${secret}.txt ${secret}\nsay \u001b[2J`,
    { OPENAI_API_KEY: secret }
  );
  expect(page).not.toContain(secret);
  expect(page).not.toContain('\u001b');
  const [, fence = ''] = /## Transcript .*\n\n(`+)\n/.exec(page) ?? [];
  expect(fence.length).toBeGreaterThan(5);
});

test('a long transcript has its end, and a page of another program none', async () => {
  const steps = [...Array(300).keys()].map((step) => `progress ${step}`);
  const page = await pageAfter(steps.join('\n'));
  expect(page).toContain('## Transcript (the last 200 steps)');
  expect(page).toContain('\n… earlier steps are left out …\n');
  expect(page).toContain('\nnotice: 299\n');
  const run = await runCommand(workspace, ['run', 'shell', 'echo x', '--json']);
  const { agent_id: id } = JSON.parse(run.stdout);
  const path = join(workspace.path, 'logs', 'agents', `${id}.md`);
  expect(readFileSync(path, 'utf8')).not.toContain('## Transcript');
});
