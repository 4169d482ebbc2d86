import type { Browser, Page, Route } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { type ActingPage, actingPage } from '../../kit/browser/acting-page.ts';
import {
  browserTest,
  expectSound,
  hasBrowser,
  launchBrowser,
  type WatchedPage
} from '../../kit/browser/page-browser.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import { createdWorker } from '../../kit/servers/orchestrator-calls.ts';
import { journalOf } from '../../kit/servers/web-server.ts';
import type { TempWorkspace } from '../../kit/workspaces/temp-workspace.ts';

let browser: Browser;
let stage: ActingPage;
let workspace: TempWorkspace;
let server: McpClient;
let opened: WatchedPage;
let page: Page;
let worker: string | undefined;

beforeAll(async () => {
  if (hasBrowser) browser = await launchBrowser();
});

afterAll(() => browser?.close());

beforeEach(async () => {
  if (!hasBrowser) return;
  worker = undefined;
  stage = await actingPage(browser);
  ({ workspace, server, opened, page } = stage);
});

afterEach(async () => {
  if (!hasBrowser) return;
  await stage.close(worker);
});

async function spawn(
  prompt: string,
  more: Record<string, unknown> = {}
): Promise<string> {
  const { data } = await server.call('spawn_rehearsal', { prompt, ...more });
  return String(data.agent_id);
}

async function endedAgent(prompt: string): Promise<string> {
  const id = await spawn(prompt, { access: 'read' });
  const row = page.locator(`a.row[data-row="${id}"]`);
  await row.getByText('completed').waitFor();
  await row.click();
  await page.getByRole('button', { name: 'Spawn alike…' }).waitFor();
  return id;
}

/** Sends it on to the server, and loses the answer. */
async function loseAnswer(route: Route): Promise<void> {
  await route.fetch();
  await route.abort();
}

/** What the page sends to a path; every send fails until `answer` is set. */
async function interceptPosts(path: string) {
  const posts = {
    bodies: [] as Record<string, string>[],
    answer: undefined as Record<string, unknown> | undefined
  };
  await page.route(path, async (route) => {
    posts.bodies.push(route.request().postDataJSON());
    if (posts.answer) await route.fulfill({ json: posts.answer });
    else await route.abort();
  });
  return posts;
}

const unreachable =
  'The server cannot be reached. Is troupe web still running?';

browserTest(
  'a text stays when its council is replaced or closed, and goes to another only by a decision',
  async () => {
    const start = (request: string) =>
      server.call('start_council', { agent_name: 'one', request });
    await start('Tabs?');
    const posts = await interceptPosts('**/web/council/respond');
    await page.keyboard.press('3');
    const field = page.getByLabel('Your response');
    await field.fill('A considered response');
    await field.press('Control+Enter');
    await page.getByText(unreachable).waitFor();
    await start('Go?');
    await page
      .getByText('Another council was started. Your text is kept')
      .waitFor();
    await expectSound({ ...opened, messages: [] }, 'council-kept');
    expect(await field.inputValue()).toBe('A considered response');
    const respond = page.getByRole('button', { name: 'Respond' });
    expect(await respond.isDisabled()).toBe(true);
    await field.press('Control+Enter');
    expect(posts.bodies.length).toBe(1);

    await page.getByRole('button', { name: 'Use it there' }).click();
    posts.answer = { agent_name: 'person', response_id: 'x' };
    await field.press('Control+Enter');
    await page.getByText('Your response is there').waitFor();
    expect(await field.inputValue()).toBe('');
    const [first, second] = posts.bodies;
    expect(second?.session_id).not.toBe(first?.session_id);
    expect(second?.request_id).not.toBe(first?.request_id);

    await field.fill('Another response');
    await server.call('close_council', {
      ...{ agent_name: 'one', conclusion: 'Tabs' }
    });
    await page.getByText('The council was closed. Your text is kept').waitFor();
    expect(await field.inputValue()).toBe('Another response');
    await page.getByRole('button', { name: 'Discard' }).click();
    await field.waitFor({ state: 'detached' });
    expect(posts.bodies.length).toBe(2);
  }
);

browserTest(
  'a task stays when its worker is stopped, and a prompt when another screen is opened',
  async () => {
    ({ agent_id: worker } = await createdWorker(server, { name: 'one' }));
    await page.keyboard.press('4');
    const task = page.getByLabel('The next task for one');
    await task.fill('a long task');
    await server.call('agent_delete', { agent_id: worker });
    await page.getByText('and takes no task. Your text is kept').waitFor();
    expect(await task.inputValue()).toBe('a long task');
    expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(
      true
    );
    await page.getByRole('link', { name: 'Now' }).click();

    await endedAgent('say hi');
    const prompt = page.getByLabel('The next prompt');
    await prompt.fill('say precious');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { name: 'Now' }).waitFor();
    await page.goBack();
    await prompt.waitFor();
    expect(await prompt.inputValue()).toBe('say precious');
    await prompt.press('Control+Enter');
    await page.getByRole('heading', { name: 'say precious' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'say hi' }).waitFor();
    expect(await prompt.inputValue()).toBe('');
  }
);

browserTest(
  'the prompt in a dialog outlives the dialog and a lost answer, and is started as it was edited',
  async () => {
    await endedAgent('say hi');
    const open = page.getByRole('button', { name: 'Spawn alike…' });
    const dialog = page.getByRole('dialog', { name: 'Spawn alike' });
    const field = dialog.getByRole('textbox');
    await open.click();
    await field.fill('say first');
    const box = await field.boundingBox();
    if (!box) throw new Error('The field is not shown.');
    await page.mouse.move(box.x + 60, box.y + 15);
    await page.mouse.down();
    await page.mouse.move(10, box.y + 15, { steps: 4 });
    await page.mouse.up();
    await dialog.waitFor();
    await page.mouse.click(10, 10);
    await dialog.waitFor({ state: 'detached' });
    await open.click();
    expect(await field.inputValue()).toBe('say first');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await open.focus();
    await page.keyboard.press('Enter');
    expect(await field.inputValue()).toBe('say first');

    await page.route('**/web/agents', loseAnswer, { times: 1 });
    await field.press('Control+Enter');
    await dialog.getByText(unreachable).waitFor();
    await field.fill('say second');
    await field.press('Control+Enter');
    await page.getByRole('heading', { name: 'say second' }).waitFor();
    const spawned = journalOf(workspace)
      .filter(({ type }) => type === 'spawned')
      .map(({ task }) => task);
    expect(spawned).toEqual(['say hi', 'say first', 'say second']);
    await expect
      .poll(() => page.evaluate('document.activeElement.id'))
      .toBe('main');
  }
);

browserTest(
  'a cancel that fails keeps its dialog and its reason; a squad is canceled after a question',
  async () => {
    const id = await spawn('sleep 600', { access: 'read' });
    await page.locator(`a.row[data-row="${id}"]`).click();
    const open = page.getByRole('button', { name: 'Cancel…' });
    const dialog = page.getByRole('dialog', { name: 'Cancel agent' });
    const reason = dialog.getByLabel('Reason');
    const yes = dialog.getByRole('button', { name: 'Cancel agent' });
    await open.click();
    await reason.fill('see ticket 12');
    await page.route('**/cancel', (route) => route.abort(), { times: 1 });
    await yes.click();
    await dialog.getByRole('alert').getByText(unreachable).waitFor();
    expect(await reason.inputValue()).toBe('see ticket 12');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await open.click();
    expect(await reason.inputValue()).toBe('see ticket 12');
    await yes.dblclick();
    await page.getByText(`${id} is canceled.`).waitFor();
    await dialog.waitFor({ state: 'detached' });

    const task = 'sleep 600';
    // It answers when they have ended.
    const ends = server.call('start_squad_members', {
      members: ['code-reviewer', 'security-reviewer'].map((roleId) => ({
        ...{ roleId, task }
      }))
    });
    await page.keyboard.press('2');
    await page.getByRole('button', { name: 'Cancel all 2…' }).dblclick();
    const all = page.getByRole('dialog', { name: 'Cancel agents' });
    await all.waitFor();
    await expectSound({ ...opened, messages: [] }, 'squad-cancel');
    const reasons = () =>
      journalOf(workspace)
        .filter(({ type }) => type === 'cancel_requested')
        .map(({ reason: words, who }) =>
          `${words}, ${who}`.replace(/-\w+/, '')
        );
    const first = 'see ticket 12, from the page';
    expect(reasons()).toEqual([first]);
    await all.getByRole('button', { name: 'Cancel agents' }).click();
    await page.getByText(/2 agents of squad-\w+ were canceled\./).waitFor();
    await ends;
    expect(reasons()).toEqual([
      first,
      'all of squad, from the page',
      'all of squad, from the page'
    ]);
  }
);

browserTest(
  'the same text has one id however often it is sent, an edited one another, and a summons its council',
  async () => {
    ({ agent_id: worker } = await createdWorker(server, { name: 'one' }));
    await server.call('start_council', { agent_name: 'one', request: 'Tabs?' });
    for (const [key, name, path, id, answer] of [
      ['4', 'The next task for one', 'tasks', 'task_id', { position: 0 }],
      ['3', 'Your response', 'respond', 'request_id', { agent_name: 'person' }]
    ] as const) {
      const posts = await interceptPosts(`**/web/**/${path}`);
      await page.keyboard.press(key);
      const field = page.getByLabel(name);
      const button = page.locator('form.reply .primary');
      const send = async (text: string) => {
        const before = posts.bodies.length;
        await field.fill(text);
        await button.click();
        await expect.poll(() => posts.bodies.length).toBe(before + 1);
        await expect.poll(() => button.isEnabled()).toBe(true);
      };
      await send('say hello');
      await send('say hello');
      await send('say hello, again');
      posts.answer = answer;
      await field.fill('say hello');
      await button.click();
      await expect.poll(() => field.inputValue()).toBe('');
      await field.fill('say hello');
      await button.click();
      await expect.poll(() => field.inputValue()).toBe('');
      const [a, b, c, d, e] = posts.bodies.map((body) => body[id]);
      expect(a).toMatch(/^page-.{8}/);
      expect([b, d]).toEqual([a, a]);
      expect(new Set([a, c, e]).size).toBe(3);
      await field.press('Escape');
    }
    const { bodies } = await interceptPosts('**/web/council/respond');
    const summons = await interceptPosts('**/web/council/summon');
    summons.answer = { agent_id: '', error: 'Claude is not installed.' };
    await page.getByRole('button', { name: 'Summon' }).click();
    await page
      .locator('.message.is-error')
      .getByText('Claude is not installed.')
      .waitFor();
    expect(bodies).toEqual([]);
    expect(summons.bodies.map(({ session_id: id }) => id)).toEqual([
      expect.stringMatching(/\w/)
    ]);
  }
);
