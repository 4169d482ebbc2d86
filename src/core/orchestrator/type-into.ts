import { setTimeout as delay } from 'node:timers/promises';
import type { PaneRef, Terminal } from './terminal.ts';

/** A screen that has not changed for so long is waiting for input. */
const stillMs = 700;
/** So long a program has to draw one. */
const drawnMs = 30_000;

/**
 * Types a text once a program's screen stands still: what comes sooner, while
 * it starts, is lost.
 */
export async function typeInto(
  terminal: Terminal,
  pane: PaneRef,
  text: string
): Promise<void> {
  let before = '';
  for (let waited = 0; waited < drawnMs; waited += stillMs) {
    await delay(stillMs);
    const screen = (await terminal.screen(pane, 50)).join('\n');
    if (screen !== '' && screen === before) break;
    before = screen;
  }
  await terminal.paste(pane, text);
}
