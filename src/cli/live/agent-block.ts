import { askLine } from '../../answers/asks.ts';
import type { Run } from '../../core/runs/run.ts';
import { terminalLine } from '../../core/text.ts';
import type { Host } from '../../host/host.ts';
import { colorsFor } from '../output/output.ts';
import { duration, shorten, widthOf } from '../output/text.ts';
import { LiveBlock } from './screen/live-block.ts';
import type { Size } from './screen/terminal.ts';

export interface Activity {
  id: string;
  engine: string;
  /** Milliseconds since 1970. */
  since: number;
  isQueued: boolean;
  doing: string;
}

/** Rows that stay free for the title of a window and the prompt of a shell. */
const linesLeft = 2;
const gap = '  ';
const frames = [...'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'];

/** A line for each active agent, below the other output. */
class AgentBlock {
  readonly #block: LiveBlock;
  #activities: Activity[] = [];

  constructor() {
    this.#block = new LiveBlock((frame, size) =>
      blockLines(this.#activities, frame, size)
    );
  }

  show(host: Host, runs: readonly Run[]): void {
    this.#activities = runs.map((run) => activityOf(host, run));
  }

  close(): void {
    this.#block.close();
  }
}

/** A block, if all streams are terminals that support one. */
export function openBlock(
  streams: { isTTY?: boolean }[] = [process.stderr]
): AgentBlock | undefined {
  const areTerminals = streams.every((stream) => stream.isTTY);
  return areTerminals && process.env.TERM !== 'dumb'
    ? new AgentBlock()
    : undefined;
}

/** The current activity of an agent, on one line. */
export function describeActivity(host: Host, run: Run): string {
  if (run.status === 'queued') return 'waiting to start';
  const [ask] = host.asks.open([run.record]);
  if (ask) return `asks: ${askLine(ask)}`;
  return terminalLine(host.tracker.lastWords(run.record) ?? 'at work');
}

function activityOf(host: Host, run: Run): Activity {
  const { agent_id: id, engine, created_at } = run.record;
  const isQueued = run.status === 'queued';
  const since = Date.parse(created_at);
  return {
    id: terminalLine(id),
    engine: terminalLine(engine),
    since,
    isQueued,
    doing: describeActivity(host, run)
  };
}

export function blockLines(
  activities: Activity[],
  frame: number,
  { columns, rows }: Size,
  now = Date.now()
): string[] {
  const { cyan, dim } = colorsFor(process.stderr);
  const room = Math.max(1, rows - linesLeft);
  const isFull = activities.length > room;
  const shown = isFull ? activities.slice(0, room - 1) : activities;
  const engines = Math.max(0, ...shown.map(({ engine }) => widthOf(engine)));
  const times = shown.map(({ since }) =>
    duration(Math.max(0, now - since) / 1000)
  );
  const longest = Math.max(0, ...times.map((time) => time.length));
  const lines = shown.map(({ id, engine, isQueued, doing }, index) => {
    const mark = isQueued
      ? dim('·')
      : cyan(frames[frame % frames.length] ?? '');
    const facts = [
      id,
      engine.padEnd(engines),
      (times[index] ?? '').padStart(longest)
    ].join(gap);
    const line = shorten(`${facts}${gap}${doing}`, columns - 3);
    return `${mark} ${line.slice(0, facts.length)}${dim(line.slice(facts.length))}`;
  });
  const more = activities.length - shown.length;
  return more > 0 ? [...lines, dim(`+ ${more} more`)] : lines;
}
