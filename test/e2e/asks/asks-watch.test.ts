import { afterEach, beforeEach, expect } from 'vitest';
import { runCommand } from '../../kit/servers/command-line.ts';
import { openScreen, type Screen } from '../../kit/servers/screen.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';
import { testTmux } from '../../kit/workspaces/tmux-stage.ts';

let workspace: TempWorkspace;
let screen: Screen;

beforeEach(() => {
  workspace = createTempWorkspace();
  screen = openScreen(workspace, 100, 24);
});

afterEach(() => {
  screen.close();
  workspace.remove();
});

async function startAsking(script: string): Promise<string> {
  const asking = ['--access', 'read', '--ask', 'person', '-b'];
  const words = ['run', 'rehearsal', script, ...asking];
  return (await runCommand(workspace, words)).stdout.trim();
}

async function resultOf(id: string): Promise<string> {
  await runCommand(workspace, ['wait', id]);
  return (await runCommand(workspace, ['result', id])).stdout;
}

testTmux(
  'watch shows an ask in its row, and allows it after a question',
  async () => {
    const id = await startAsking('permit make all');
    screen.run('troupe watch');
    await screen.shows(
      new RegExp(`^> ${id} +asking `, 'm'),
      `${id}-1 Shell: make all`,
      '1 asking'
    );
    screen.press('a');
    await screen.shows(`Allow ${id}-1 Shell: make all? y/n`);
    screen.press('n');
    await screen.shows('Nothing was changed.');
    screen.press('a', 'y');
    await screen.shows(`${id}-1 is allowed.`);
    expect(await resultOf(id)).toContain('allowed make all');
    await screen.shows(new RegExp(`${id} +completed`));
    screen.press('a');
    await screen.shows(`${id} asks for nothing.`);
  }
);

testTmux('watch denies an ask with a reason', async () => {
  const id = await startAsking('permit rm -r build');
  screen.run('troupe watch');
  await screen.shows(`${id}-1 Shell: rm -r build`);
  screen.press('x');
  await screen.shows(`deny ${id}-1, because`);
  screen.press('n', 'o', 'Enter');
  await screen.shows(`${id}-1 is denied.`);
  expect(await resultOf(id)).toContain('Denied by the person: no');
});

testTmux('watch answers a question with a text', async () => {
  const id = await startAsking('ask Tabs or spaces? | tabs | spaces');
  screen.run('troupe watch');
  await screen.shows(`${id}-1 ask_coordinator: Tabs or spaces?`);
  screen.press('x');
  await screen.shows('is a question: a answers it');
  screen.press('a');
  await screen.shows(`answer ${id}-1: `);
  screen.press('t', 'a', 'b', 's', 'Enter');
  await screen.shows(`${id}-1 is answered.`);
  expect(await resultOf(id)).toContain('Tabs or spaces? tabs (person)');
});

testTmux('watch allows a long ask only where all of it is shown', async () => {
  const long = `echo ${'word '.repeat(30)}&& rm -r build`;
  const id = await startAsking(`permit ${long}`);
  screen.run('troupe watch');
  await screen.shows(`${id}-1 Shell: echo`);
  screen.press('a');
  await screen.shows('is too long for this line: Enter shows it');
  screen.press('y');
  screen.press('Enter');
  await screen.shows(/ asking \(/, '&& rm -r build', 'allow|deny');
  screen.press('a');
  await screen.shows(`Allow ${id}-1, which is shown above? y/n`);
  screen.press('y');
  await screen.shows(`${id}-1 is allowed.`);
  expect(await resultOf(id)).toContain('&& rm -r build');
});
