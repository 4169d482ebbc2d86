import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { launchScript } from '../../../test/kit/agents/pane-agent.ts';
import { until } from '../../../test/kit/judges/until.ts';
import {
  type TmuxStage,
  testTmux,
  tmuxStage
} from '../../../test/kit/workspaces/tmux-stage.ts';
import type {
  PaneRef,
  Terminal
} from '../../core/orchestrator/process/terminal.ts';

let stage: TmuxStage;

beforeEach(() => {
  stage = tmuxStage();
});

afterEach(() => stage.stop());

/** Records every byte that arrives, and shows when it is ready. */
const listener = `
const { appendFileSync, writeFileSync } = require('node:fs');
process.stdin.setRawMode(true);
process.stdin.on('data', (data) => appendFileSync('typed', data));
if (process.argv[1] === 'bracketed') process.stdout.write('\\x1b[?2004h');
process.stdout.write('ready\\r\\n');
`;

const texts = [
  '',
  'one line',
  'two\nlines\n\n',
  '-n -- x;',
  ';',
  '#{pid} #(id) %1 $HOME \\n \\; ~ "q" \'q\'',
  '한국어\t日本 😀',
  '한국어 line\n'.repeat(7000)
];

testTmux('a text arrives byte for byte, then Enter', async () => {
  const terminal = stage.terminal();
  const pane = await listen(terminal, '');
  let all = '';
  for (const text of texts) {
    await terminal.paste(pane, text);
    all += `${text}\r`;
    await typed(all);
  }
  expect(stage.tmux('list-buffers')).toBe('');
});

testTmux('a program that supports bracketed paste gets one', async () => {
  const terminal = stage.terminal();
  const pane = await listen(terminal, 'bracketed');
  await terminal.paste(pane, 'a\nb');
  await typed('\x1b[200~a\nb\x1b[201~\r');
});

testTmux('a text cannot end its own paste', async () => {
  const terminal = stage.terminal();
  const pane = await listen(terminal, 'bracketed');
  await terminal.paste(pane, 'a\x1b[201~\rb\x1b\x1b[201~c');
  await typed('\x1b[200~a[201~\rb[201~c\x1b[201~\r');
});

testTmux('a text arrives while the user scrolls in the pane', async () => {
  const terminal = stage.terminal();
  const pane = await listen(terminal, '');
  stage.tmux('copy-mode', '-t', pane.paneId);
  stage.tmux('set-option', '-w', '-t', pane.paneId, 'synchronize-panes', 'on');
  await terminal.paste(pane, 'qx');
  await typed('qx\r');
  const mode = '#{pane_in_mode}';
  expect(stage.tmux('display-message', '-pt', pane.paneId, mode)).toBe('1');
});

testTmux('a pane that has ended or is gone takes no text', async () => {
  const terminal = stage.terminal();
  const { pane } = await launchScript(stage, terminal, 'exit 3');
  await until('the pane to be dead', async () => {
    const [state] = await terminal.panes([]);
    return state?.isDead || undefined;
  });
  const gone = { code: 'terminal_failed' };
  await expect(terminal.paste(pane, 'x')).rejects.toMatchObject(gone);
  await terminal.close(pane);
  await expect(terminal.paste(pane, 'x')).rejects.toMatchObject(gone);
  expect(await terminal.screen(pane, 5)).toEqual([]);
});

testTmux('the last lines with text are returned', async () => {
  const terminal = stage.terminal();
  const long = 'long '.repeat(60).trim();
  const { pane, wrote } = await launchScript(
    stage,
    terminal,
    `seq 100; echo; echo "${long}"; echo; echo ' 끝  '; : >said; exec sleep 100`
  );
  await wrote('said');
  const said = await until('the last word', async () => {
    const lines = await terminal.screen(pane, 3);
    return lines.at(-1) === ' 끝' ? lines : undefined;
  });
  expect(said).toEqual(['100', long, ' 끝']);
  const more = await terminal.screen(pane, 60);
  expect(more).toHaveLength(60);
  expect(more.slice(0, 2)).toEqual(['43', '44']);
});

async function listen(terminal: Terminal, how: string): Promise<PaneRef> {
  const { pane } = await launchScript(stage, terminal, '', {
    command: process.execPath,
    args: ['-e', listener, '--', how]
  });
  await until('the program to listen', async () => {
    const lines = await terminal.screen(pane, 3);
    return lines.includes('ready') || undefined;
  });
  return pane;
}

/** Waits until as many bytes have arrived, and compares them. */
async function typed(expected: string): Promise<void> {
  const bytes = Buffer.from(expected);
  const seen = await until('the text', () => {
    try {
      const found = readFileSync(join(stage.path, 'typed'));
      return found.length >= bytes.length ? found : undefined;
    } catch {
      return undefined;
    }
  });
  expect(seen.equals(bytes), seen.subarray(-200).toString()).toBe(true);
}
