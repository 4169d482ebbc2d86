import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { type ActingPage, actingPage } from '../../kit/browser/acting-page.ts';
import {
  browserTest,
  expectSound,
  hasBrowser,
  launchBrowser,
  openPage,
  type WatchedPage
} from '../../kit/browser/page-browser.ts';
import { hostileHtml } from '../../kit/judges/hostile-html.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import { createdWorker } from '../../kit/servers/orchestrator-calls.ts';
import { journalOf, type StartedWeb } from '../../kit/servers/web-server.ts';
import type { TempWorkspace } from '../../kit/workspaces/temp-workspace.ts';

let browser: Browser;
let stage: ActingPage;
let workspace: TempWorkspace;
let server: McpClient;
let web: StartedWeb;
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
  ({ workspace, server, web, opened, page } = stage);
});

afterEach(async () => {
  if (!hasBrowser) return;
  await stage.close(worker);
});

/** Without a place to break it. */
const longName =
  'Migrations_of_the_customer_database_with_a_name_as_long_as_names_may_ever_become';

const isSound = (name: string) => expectSound(opened, name);

function acted(): unknown[] {
  return journalOf(workspace)
    .filter(({ type }) => type === 'acted')
    .map(({ action, who }) => `${action} ${who}`);
}

browserTest(
  'a worker gets a task, loses another one, and is stopped, by keyboard alone',
  async () => {
    ({ agent_id: worker } = await createdWorker(server, { name: longName }));
    await page.keyboard.press('4');
    const field = page.getByLabel(`The next task for ${longName}`);
    await field.waitFor();
    const send = async (text: string) => {
      await page.keyboard.press('r');
      await page.keyboard.type(text);
      await page.keyboard.press('Control+Enter');
      await page.getByText(`${longName} has the task`).waitFor();
      await page.getByText(text).first().waitFor();
      expect(await field.inputValue()).toBe('');
      await page.keyboard.press('Escape');
    };
    await send('sleep 600');
    await send('say never');
    await isSound('worker');
    const later = page.getByRole('listitem').filter({ hasText: 'say never' });
    await later.getByRole('button', { name: /Cancel task page-/ }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Cancel task' }).waitFor();
    await isSound('worker-cancel');
    await page
      .getByRole('button', { name: 'Cancel task', exact: true })
      .focus();
    await page.keyboard.press('Enter');
    await page.getByText(/Task page-\S+ is canceled\./).waitFor();
    await page.getByRole('button', { name: 'Stop…' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Stop worker' }).waitFor();
    await isSound('worker-stop');
    await page.getByLabel('End it at once').check();
    await page.keyboard.press('Enter');
    await page.getByText(`${longName} is stopped.`).waitFor();
    await field.waitFor({ state: 'detached' });
    await isSound('worker-over');
    expect(acted()).toEqual([
      'task_sent from the page',
      'task_sent from the page',
      'task_cancel_requested from the page',
      'stop_requested from the page'
    ]);
    await page.keyboard.press('5');
    const entry = page.getByRole('row').filter({ hasText: 'stop_requested' });
    await entry.getByRole('link', { name: worker }).click();
    await page.getByRole('heading', { name: longName }).waitFor();
  }
);

browserTest(
  'a person responds in the council, and summons an agent',
  async () => {
    await server.call('start_council', {
      agent_name: longName,
      request: 'say Tabs.'
    });
    await server.call('send_response', {
      agent_name: 'codex',
      content: 'Tabs, because each of us sets their width.'
    });
    await page.keyboard.press('3');
    await page.getByLabel('Your response').waitFor();
    await page.keyboard.press('r');
    await page.keyboard.type('Spaces: **the formatter** wants them.');
    await page.keyboard.press('Control+Enter');
    const own = page.getByRole('article', { name: 'Response of person' });
    await own.getByText('the formatter').waitFor();
    await own.getByText('in the page').waitFor();
    await page.getByLabel('Engine').selectOption('rehearsal');
    await page.getByRole('button', { name: 'Summon' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText(/will respond as rehearsal/).waitFor();
    await page
      .getByRole('article', { name: 'Response of rehearsal' })
      .waitFor();
    await isSound('council-all');
    expect(acted()).toEqual(['responded from the page']);
    await server.call('close_council', {
      agent_name: longName,
      conclusion: 'Tabs'
    });
    await page.getByRole('heading', { name: /Conclusion/ }).waitFor();
    expect(await page.getByLabel('Your response').count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Summon' }).count()).toBe(0);
  }
);

browserTest(
  'a link for looking shows workers and council without forms',
  async () => {
    ({ agent_id: worker } = await createdWorker(server, { name: 'one' }));
    await server.call('start_council', { agent_name: 'a', request: 'Tabs?' });
    const other = await browser.newContext();
    const looker = await openPage(other, await web.newLink('look'));
    for (const [path, text] of [
      ['/workers', 'Its queue is empty.'],
      ['/council', 'Tabs?']
    ] as const) {
      await looker.page.goto(new URL(path, web.link).href);
      await looker.page.getByText(text).first().waitFor();
      expect(
        await looker.page.locator('main :is(button, textarea, select)').count()
      ).toBe(0);
    }
    await other.close();
  }
);

browserTest(
  'hostile text of workers runs nothing and loads nothing',
  async () => {
    const [name = ''] = hostileHtml;
    const text = hostileHtml.join(' ');
    ({ agent_id: worker } = await createdWorker(server, { name, role: text }));
    const enqueue = (task_id: string, payload: string) =>
      server.call('task_enqueue', {
        agent_id: worker,
        task: { task_id, payload }
      });
    const [running = '', waiting = ''] = hostileHtml.slice(1);
    await enqueue(running, `${text}\nsleep 600`);
    await enqueue(waiting, text);
    await page.keyboard.press('4');
    const task = page.getByRole('listitem').filter({ hasText: 'waiting' });
    await task.waitFor();
    for (const open of [
      page.getByRole('button', { name: 'Stop…' }),
      task.getByRole('button', { name: 'Cancel task' })
    ]) {
      await open.click();
      await page.getByRole('dialog').waitFor();
      expect(
        await page
          .locator(':is(main, dialog) :is(img, script, iframe, svg, style)')
          .count()
      ).toBe(0);
      await isSound('worker-hostile');
      await page.keyboard.press('Escape');
    }
    expect(await page.evaluate('window.hit')).toBeUndefined();
    expect(opened.foreign).toEqual([]);
  }
);

browserTest('a refusal is shown as the server words it', async () => {
  ({ agent_id: worker } = await createdWorker(server, { name: 'one' }));
  await page.keyboard.press('4');
  const field = page.getByLabel('The next task for one');
  await field.fill('say hello');
  // The page still shows the worker as it was.
  await page.route('**/web/workers', (route) => route.abort());
  await server.call('agent_delete', {
    ...{ agent_id: worker, force: true, confirm: true }
  });
  await field.press('Control+Enter');
  await page
    .getByText(
      `Worker ${worker} is stopped and takes no tasks. Nothing was recorded.`
    )
    .waitFor();
  expect(await field.inputValue()).toBe('say hello');
});
