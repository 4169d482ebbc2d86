import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../kit/judges/until.ts';
import type { TmuxStage } from '../kit/workspaces/tmux-stage.ts';
import type { Question } from './clients.ts';

/** How long a client may take until it shows what it has to. */
const patienceMs = 40_000;

/**
 * No person is faster. Clients lose keys that come before a menu listens, and
 * take an Enter right behind a text for a part of what was pasted.
 */
const aMomentMs = 500;

/** Marks of the line that Enter would take, in the menus of the clients. */
const marked = /^[\s│]*[❯›●>] *\S/;

/** A client in a terminal, with its user. */
export class Screen {
  readonly #stage: TmuxStage;

  constructor(stage: TmuxStage) {
    this.#stage = stage;
  }

  /** Starts a program in place of what was there. */
  start(words: string[], cwd: string, env: Record<string, string>): void {
    const settings = Object.entries(env).map(
      ([name, value]) => `${name}=${value}`
    );
    this.#stage.tmux(
      ...['respawn-pane', '-k', '-t', 'main', '-c', cwd, 'env', '-i'],
      ...settings,
      ...words
    );
  }

  /** The lines that show, without empty ones. */
  lines(): string[] {
    return this.#stage
      .tmux('capture-pane', '-p', '-t', 'main')
      .split('\n')
      .map((line) => line.trimEnd())
      .filter((line) => /[\p{L}\p{N}❯›]/u.test(line));
  }

  /** Waits for what has to show. */
  async shows(what: RegExp): Promise<string[]> {
    let seen: string[] = [];
    const look = () => {
      seen = this.lines();
      return what.test(seen.join('\n')) || undefined;
    };
    await until(String(what), look, patienceMs).catch(() => {
      throw new Error(`It does not show ${what}:\n${seen.join('\n')}`);
    });
    return seen;
  }

  /** Goes to the line of a question that is to be taken, and takes it. */
  async answer({ shows, choose, taken }: Question): Promise<void> {
    const isOver = () => {
      const text = this.lines().join('\n');
      return (taken?.test(text) ?? false) || !shows.test(text);
    };
    const where = () => JSON.stringify(this.#menu(choose));
    await until(
      `${choose} to be taken`,
      async () => {
        const before = where();
        await delay(aMomentMs);
        if (isOver()) return true;
        const { at, mark } = this.#menu(choose);
        if (at < 0 || mark < 0 || where() !== before) return undefined;
        this.press(at === mark ? 'Enter' : mark < at ? 'Down' : 'Up');
        const moved = () => where() !== before || isOver();
        await this.#until(moved, at === mark ? 4000 : 1000);
        return undefined;
      },
      patienceMs
    );
  }

  /** Types a sentence, and sends it once it stands there. */
  async say(sentence: string): Promise<void> {
    const isThere = () => this.lines().some((line) => line.includes(sentence));
    await until('what was typed', async () => {
      this.#stage.tmux('send-keys', '-t', 'main', '-l', sentence);
      if (await this.#until(isThere, 3000)) return true;
      // It was not listening yet, or had a part of it only.
      this.press('C-u');
      return undefined;
    });
    await delay(aMomentMs);
    this.press('Enter');
  }

  #menu(what: RegExp): { at: number; mark: number } {
    const lines = this.lines();
    return {
      at: lines.findLastIndex((line) => what.test(line)),
      mark: lines.findLastIndex((line) => marked.test(line))
    };
  }

  async #until(look: () => boolean, timeoutMs: number): Promise<boolean> {
    return until('it', () => look() || undefined, timeoutMs).catch(() => false);
  }

  press(...keys: string[]): void {
    this.#stage.tmux('send-keys', '-t', 'main', ...keys);
  }
}
