/** The longest task of the page at an agent with a transcript of 5 MB. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createWorkspace, startServer } from './support.mjs';
import { talkerPlugin, talkerProgram } from './talker.mjs';

const bytes = 5_000_000;
/** Seconds in which it is followed. */
const seconds = 10;
/** How often older turns are asked for. */
const earlier = 3;

/**
 * @param startWeb starts the page of a workspace
 * @returns the longest task in ms while it is opened, followed, read back and
 *   opened after its end; 0 without a task above 50 ms
 */
export async function measureTranscript(options, browser, startWeb) {
  const workspace = createWorkspace();
  const over = join(workspace.base, 'over');
  const program = talkerProgram({ node: options.node, bytes, over });
  workspace.offer(
    workspace.file(
      'talker.mjs',
      talkerPlugin(workspace.file('talker', program, 0o755))
    )
  );
  const server = await startServer(options, workspace);
  const web = startWeb(options, workspace);
  try {
    const { data } = await server.call('spawn_talker', { prompt: 'talk' });
    const [chunk] = await once(web.stdout, 'data');
    const page = await browser.newPage();
    await page.addInitScript(watchTasks);
    const longest = async (work) => {
      await page.evaluate(() => window.tasks.splice(0));
      await work();
      await delay(1000);
      return page.evaluate(() => Math.max(0, ...window.tasks));
    };
    const row = page.locator(`a.row[data-row="${data.agent_id}"]`);
    const turn = page.locator('.turn').first();
    await page.goto(String(chunk).trim());
    await row.getByText('running').waitFor();
    await delay(2000);
    const open = async () => {
      await row.click();
      await turn.waitFor();
    };
    const opened = await longest(open);
    const followed = await longest(() => delay(1000 * seconds));
    const readBack = await longest(async () => {
      for (let count = 0; count < earlier; count += 1) {
        await page.getByRole('button', { name: 'Earlier' }).first().click();
        await delay(500);
      }
    });
    await page.keyboard.press('Escape');
    writeFileSync(over, '');
    await row.getByText('completed').waitFor();
    const openedAgain = await longest(open);
    return { opened, followed, readBack, openedAgain };
  } finally {
    writeFileSync(over, '');
    web.kill('SIGTERM');
    await server.close();
    workspace.remove();
  }
}

/** In the page. */
function watchTasks() {
  window.tasks = [];
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) window.tasks.push(duration);
  }).observe({ type: 'longtask', buffered: true });
}
