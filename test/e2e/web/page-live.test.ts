import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import {
  axeFaults,
  browserTest,
  hasBrowser,
  isTooWide,
  launchBrowser,
  openPage,
  type WatchedPage
} from '../../kit/browser/page-browser.ts';
import { hostileHtml as hostile } from '../../kit/judges/hostile-html.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  journalOf,
  type StartedWeb,
  startWeb
} from '../../kit/servers/web-server.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let browser: Browser;
let workspace: TempWorkspace;
let server: McpClient;
let web: StartedWeb;
let context: BrowserContext;
let opened: WatchedPage;
let page: Page;

beforeAll(async () => {
  if (hasBrowser) browser = await launchBrowser();
});

afterAll(() => browser?.close());

beforeEach(async () => {
  if (!hasBrowser) return;
  workspace = createTempWorkspace();
  workspace.write('.trouperc.json', '{"engines": {"rehearsal": true}}');
  server = await startServer(workspace);
  web = await startWeb(workspace);
  context = await browser.newContext();
  opened = await openPage(context, web.link);
  page = opened.page;
});

afterEach(async () => {
  if (!hasBrowser) return;
  await context.close();
  await web.end();
  await server.close();
  workspace.remove();
});

async function spawn(
  prompt: string,
  more: Record<string, unknown> = {}
): Promise<string> {
  const { data } = await server.call('spawn_rehearsal', { prompt, ...more });
  return String(data.agent_id);
}

function row(id: string) {
  return page.locator(`a.row[data-row="${id}"]`);
}

browserTest('an ask is answered in the page', async () => {
  const ask = { ask: 'person', access: 'read' };
  const id = await spawn('permit make build\nsay built', ask);
  const card = page.getByRole('article', { name: `rehearsal ${id} asks` });
  await card.getByText('make build').waitFor();
  await card.getByLabel('Reason for the agent').fill('only this once');
  await card.getByRole('button', { name: 'Allow' }).click();
  await page.getByText(`${id}-1 is answered.`).waitFor();
  await card.waitFor({ state: 'detached' });
  await row(id).getByText('completed').waitFor();
  expect(journalOf(workspace)).toContainEqual(
    expect.objectContaining({
      type: 'answered',
      by: 'person',
      who: 'from the page',
      text: 'only this once'
    })
  );
});

browserTest('a question is answered with one of its options', async () => {
  const ask = { ask: 'person', access: 'read' };
  const id = await spawn('ask Which one? | tabs | spaces', ask);
  await page.getByRole('button', { name: 'spaces' }).click();
  await row(id).getByText('completed').waitFor();
  await row(id).click();
  await page.getByText('spaces').first().waitFor();
});

browserTest('a double click acts once, and loads each part once', async () => {
  const posts: string[] = [];
  const loads: string[] = [];
  page.on('request', (request) => {
    const list = request.method() === 'POST' ? posts : loads;
    list.push(new URL(request.url()).pathname + new URL(request.url()).search);
  });
  const asks = { ask: 'person', access: 'read' };
  const permit = await spawn('permit make', asks);
  await page.getByRole('button', { name: 'Allow' }).dblclick();
  await page.getByText(`${permit}-1 is answered.`).waitFor();
  const question = await spawn('ask Which one? | tabs | spaces', asks);
  await page.getByRole('button', { name: 'spaces' }).dblclick();
  await page.getByText(`${question}-1 is answered.`).waitFor();
  await page.getByRole('article').waitFor({ state: 'detached' });
  expect(posts.filter((path) => path.endsWith('/answer')).length).toBe(2);

  const words = Array.from({ length: 30_000 }, (_, at) => `L${at}`);
  const lines = Array.from(
    { length: 120 },
    (_, at) => `progress P${at}\nsay S${at}`
  );
  const id = await spawn(`${lines.join('\n')}\n# ${words.join(' ')} end`);
  await row(id).getByText('completed').waitFor();
  await row(id).click();
  await page.getByRole('button', { name: 'Show all of it' }).click();
  const turns = page.locator('.turn');
  const before = await turns.count();
  await page.getByRole('button', { name: 'Earlier' }).first().dblclick();
  await expect.poll(() => turns.count()).toBeGreaterThan(before);
  await page.getByRole('button', { name: /^More/ }).first().dblclick();
  await page.locator('pre.prompt').getByText('L29999 end').waitFor();
  const shown = await page.locator('pre.prompt').innerText();
  expect(shown.match(/\bL\d+\b/g)).toEqual(words);
  const texts = await turns.allTextContents();
  expect(new Set(texts).size).toBe(texts.length);
  const parts = loads.filter((path) => /offset=[1-9]|before=/.test(path));
  expect(parts.length).toBeGreaterThan(1);
  expect(new Set(parts).size).toBe(parts.length);
});

browserTest('an agent is canceled by keyboard, after a question', async () => {
  const id = await spawn('sleep 600');
  await row(id).waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('x');
  const dialog = page.getByRole('dialog');
  await dialog.getByText(`Cancel ${id}?`).waitFor();
  await dialog.getByLabel('Reason').fill('not needed');
  await page.keyboard.press('Enter');
  await row(id).getByText('canceled', { exact: true }).waitFor();
  expect(journalOf(workspace)).toContainEqual(
    expect.objectContaining({
      type: 'cancel_requested',
      reason: 'not needed',
      who: 'from the page'
    })
  );
});

browserTest(
  'an agent is followed live, ends, and is continued in the page',
  async () => {
    const id = await spawn(
      'Look at it\nprogress Reading the parser\nsleep 1\nsay It **works**.'
    );
    await row(id).click();
    await page
      .getByRole('listitem')
      .getByText('Reading the parser', { exact: true })
      .first()
      .waitFor();
    await page.locator('strong', { hasText: 'works' }).waitFor();
    await page.getByLabel('The next prompt').waitFor();
    await page.keyboard.press('r');
    await page.keyboard.type('say again');
    await page.keyboard.press('Control+Enter');
    await page.getByText(`continues ${id}`).waitFor();
    await page.getByRole('heading', { name: 'say again' }).waitFor();
    expect(page.url()).not.toContain(id);
    await page.getByText('(turn 2 of this session)').waitFor();
    await page.getByRole('link', { name: id }).waitFor();
  }
);

browserTest('seven tabs are live at once, and outlive the first', async () => {
  const pages = [page];
  const { origin } = new URL(web.link);
  while (pages.length < 7) {
    const tab = await context.newPage();
    await tab.goto(origin);
    pages.push(tab);
  }
  const first = await spawn('sleep 600');
  const has = (tab: Page, id: string) =>
    tab.locator(`a.row[data-row="${id}"]`).waitFor();
  await Promise.all(pages.map((tab) => has(tab, first)));
  const [, agentTab] = pages;
  await agentTab?.goto(`${origin}/agents/${first}`);
  await agentTab?.getByText('sleep 600').first().waitFor();
  await pages.shift()?.close();
  const second = await spawn('sleep 600');
  await Promise.all(
    pages.filter((tab) => tab !== agentTab).map((tab) => has(tab, second))
  );
});

browserTest('a page that is reloaded while it is live goes on', async () => {
  const first = await spawn('sleep 600');
  await row(first).waitFor();
  await page.reload();
  await row(first).waitFor();
  await page.goto(`${new URL(web.link).origin}/agents/${first}`);
  await page.reload();
  await page.getByRole('heading', { name: 'sleep 600' }).waitFor();
  await page.goto(new URL(web.link).origin);
  const second = await spawn('sleep 600');
  await row(second).waitFor();
  expect(opened.messages).toEqual([]);
});

browserTest(
  'when the server is killed the page says that it is old, and a new link makes it live again',
  async () => {
    const first = await spawn('sleep 600');
    await row(first).waitFor();
    await web.end('SIGKILL');
    await page.getByText(/Not live since \d\d:\d\d/).waitFor();
    expect(await row(first).count()).toBe(1);
    web = await startWeb(workspace);
    await page.getByText('The server was started again').waitFor();
    await page.goto(web.link);
    await page.getByText('Live', { exact: true }).waitFor();
    const second = await spawn('sleep 600');
    await row(second).waitFor();
    await row(first).waitFor();
  }
);

browserTest(
  'a link for looking shows everything, and no button to act',
  async () => {
    const id = await spawn('permit make', { ask: 'person', access: 'read' });
    const other = await browser.newContext();
    const looker = await openPage(other, await web.newLink('look'));
    await looker.page.getByText('This link is for looking only.').waitFor();
    await looker.page.goto(`${new URL(web.link).origin}/agents/${id}`);
    await looker.page.getByText('Looking only', { exact: true }).waitFor();
    await looker.page.getByText('make').first().waitFor();
    for (const name of ['Allow', 'Deny', 'Cancel…', 'Continue'])
      expect(await looker.page.getByRole('button', { name }).count()).toBe(0);
    await other.close();
  }
);

browserTest(
  'hostile text in every field runs nothing, loads nothing and breaks no screen',
  async () => {
    const words = hostile.map((text) => `say ${text}`).join('\n');
    const steps = hostile.map((text) => `progress ${text}`).join('\n');
    const [first = ''] = hostile;
    const ended = await spawn(`${first}\n${steps}\n${words}`);
    const failed = await spawn(`${first}\nfail auth ${hostile.join(' ')}`);
    const asking = await spawn(`${first}\npermit ${hostile.join(' ')}`, {
      ask: 'person',
      access: 'read'
    });
    await server.call('start_council', {
      agent_name: first,
      request: hostile.join('\n\n')
    });
    await server.call('send_response', {
      agent_name: hostile[1],
      content: hostile.join('\n\n')
    });
    await server.call('cancel_agent', {
      agent_id: await spawn('sleep 600'),
      reason: hostile.join(' ')
    });
    await row(ended).getByText('completed').waitFor();
    const screens = [
      '/',
      `/agents/${ended}`,
      `/agents/${failed}`,
      `/agents/${asking}`,
      '/council',
      '/audit',
      `/?filter=${encodeURIComponent(first)}`
    ];
    for (const path of screens)
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 800 });
        await page.goto(new URL(path, web.link).href);
        const text = page.getByText('onerror').first();
        await text.waitFor({ state: 'attached' }).catch(async (cause) => {
          const shown = await page.locator('body').innerText();
          throw new Error(`${path} ${width}: ${shown}`, { cause });
        });
        expect(await page.evaluate('window.hit'), path).toBeUndefined();
        expect(await isTooWide(page), `${path} ${width}`).toBe(false);
        expect(
          await page
            .locator('main :is(img, script, iframe, svg, base, meta, style)')
            .count(),
          path
        ).toBe(0);
        expect(await axeFaults(page), path).toEqual([]);
      }
    const links = await page
      .locator('a')
      .evaluateAll((all) => all.map((one) => one.getAttribute('href')));
    expect(
      links.filter((href) => /^(javascript|data)/i.test(href ?? ''))
    ).toEqual([]);
    expect(opened.messages).toEqual([]);
    expect(opened.foreign).toEqual([]);
  },
  180_000
);
