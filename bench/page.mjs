/**
 * Measures the page with 200 agents at work: from the line that an agent
 * writes to the changed text in Chromium, and the processor time of the server
 * while agents write, while they are silent, and while no page looks. Then the
 * longest task of the page at a transcript of 5 MB. Needs Chromium, and `date`
 * with milliseconds.
 *
 *     --agents 200   how many
 *     --seconds 20   of each part
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { measureTranscript } from './page-transcript.mjs';
import { cpuMsOf } from './processes.mjs';
import { fact, row } from './statistics.mjs';
import {
  cleanEnvironment,
  createWorkspace,
  runBench,
  startServer
} from './support.mjs';

const limitMs = 250;
/** The longest task of a page that keeps up with its person. */
const taskMs = 100;
/** Percent of one core. */
const limits = { writing: 25, silent: 5, alone: 1 };
/** Seconds between two lines of one agent. */
const periodSeconds = 4;

const executablePath = [
  process.env.TROUPE_CHROMIUM ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome'
].find((path) => path !== '' && existsSync(path));

await runBench(
  1,
  async (options) => {
    if (executablePath === undefined)
      throw new Error('There is no Chromium. Set TROUPE_CHROMIUM.');
    const agents = Number(options.agents ?? 200);
    const seconds = Number(options.seconds ?? 20);
    const found = await measure(options, agents, seconds);
    const sorted = found.latencies.sort((a, b) => a - b);
    const p99 = sorted[Math.floor(0.99 * (sorted.length - 1))] ?? Number.NaN;
    const tasks = await transcript(options);
    const task = (name, ms) =>
      row(`transcript of 5 MB, ${name}: longest task`, [ms], {
        limit: taskMs,
        absolute: true,
        advisory: true
      });
    const share = (name, percent, most) =>
      row(`processor of the server, ${name}`, [percent], {
        unit: '% of a core',
        limit: most,
        absolute: true,
        advisory: true
      });
    return {
      title: 'The page',
      rows: [
        row(`${agents} agents: from a written line to the page`, sorted),
        fact(`99 of 100 within ${limitMs} ms`, p99 <= limitMs, `${p99} ms`),
        share('all agents write', found.writing, limits.writing),
        share('all agents are silent', found.silent, limits.silent),
        share('no page looks', found.alone, limits.alone),
        task('opened', tasks.opened),
        task('followed', tasks.followed),
        task('earlier turns', tasks.readBack),
        task('opened after its end', tasks.openedAgain)
      ],
      notes: [
        `Each agent writes a line every ${periodSeconds} s, for ${seconds} s; the page shows all of them.`,
        'A task below 50 ms counts as 0 ms; the limit is meant for a quiet machine.'
      ]
    };
  },
  { agents: { type: 'string' }, seconds: { type: 'string' } }
);

async function transcript(options) {
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox']
  });
  try {
    return await measureTranscript(options, browser, startWeb);
  } finally {
    await browser.close();
  }
}

async function measure(options, agents, seconds) {
  const workspace = createWorkspace();
  configure(workspace, agents);
  const server = await startServer(options, workspace);
  let web;
  let browser;
  try {
    for (let number = 0; number < agents; number += 1)
      await server.call('spawn_ticker', {
        prompt: `${(number * periodSeconds) / agents}`
      });
    web = startWeb(options, workspace);
    const [chunk] = await once(web.stdout, 'data');
    const link = String(chunk).trim();
    // Its share without a page, once the start is over.
    await delay(3000);
    const alone = await shareOf(web.pid, seconds);
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
    const page = await browser.newPage();
    await page.goto(link);
    await page.waitForFunction(
      (count) => document.querySelectorAll('a.row').length >= count,
      agents,
      { timeout: 120_000 }
    );
    await page.evaluate(watchTexts);
    await delay(1000 * periodSeconds);
    await page.evaluate(() => window.latencies.splice(0));
    const writing = await shareOf(web.pid, seconds);
    const latencies = await page.evaluate(() => window.latencies);
    writeFileSync(join(workspace.base, 'silent'), '');
    await delay(1500 * periodSeconds);
    const silent = await shareOf(web.pid, seconds);
    return { latencies, writing, silent, alone };
  } finally {
    await browser?.close();
    web?.kill('SIGTERM');
    writeFileSync(join(workspace.base, 'over'), '');
    await delay(1500 * periodSeconds);
    await server.end?.();
    server.child.kill('SIGTERM');
    await server.exited;
    workspace.remove();
  }
}

/** An agent that writes the time, until a file says that it is over. */
function configure(workspace, agents) {
  const [silent, over] = ['silent', 'over'].map((name) =>
    join(workspace.base, name)
  );
  const program = workspace.file(
    'ticker',
    `#!/bin/sh
read -r offset
sleep "$offset"
while [ ! -e '${over}' ]; do
  [ -e '${silent}' ] || printf '{"at":"%s"}\\n' "$(date +%s%3N)"
  sleep ${periodSeconds}
done
printf '{"end":true}\\n'
`,
    0o755
  );
  const plugin = workspace.file(
    'ticker.mjs',
    `export default {
  kind: 'cli',
  name: 'ticker',
  description: 'Writes the time.',
  command: ${JSON.stringify(program)},
  args: () => [],
  read: (reply, event) => event.end
    ? { ...reply, text: 'done', finished: true }
    : { ...reply, progress: 'at ' + event.at }
};
`
  );
  writeFileSync(
    join(workspace.path, '.trouperc.json'),
    JSON.stringify({ plugins: [plugin], maxConcurrent: Math.max(8, agents) })
  );
}

function startWeb({ node, troupe }, workspace) {
  return spawn(node, [troupe, 'web', '--no-open'], {
    cwd: workspace.path,
    env: cleanEnvironment(workspace),
    stdio: ['ignore', 'pipe', 'inherit']
  });
}

/** Percent of one core that a process takes. */
async function shareOf(pid, seconds) {
  const [before, from] = [cpuMsOf(pid), performance.now()];
  await delay(1000 * seconds);
  return (100 * (cpuMsOf(pid) - before)) / (performance.now() - from);
}

/** In the page: how old each written time is when its text appears. */
function watchTexts() {
  const shown = new Set();
  window.latencies = [];
  const look = () => {
    for (const { textContent } of document.querySelectorAll('.words')) {
      const [, at] = /^at (\d+)$/.exec(textContent) ?? [];
      if (at === undefined || shown.has(textContent)) continue;
      shown.add(textContent);
      window.latencies.push(Date.now() - Number(at));
    }
  };
  look();
  new MutationObserver(look).observe(document.body, {
    subtree: true,
    childList: true,
    characterData: true
  });
}
