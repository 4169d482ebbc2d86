import type { Run } from '../../core/runs/run.ts';
import type { Host } from '../../host.ts';
import { colorsFor } from '../output.ts';
import { duration, oneLine, shorten, widthOf } from '../text.ts';
import { LiveBlock } from './live-block.ts';
import type { Size } from './size.ts';

/** Of an agent at work, what its line in a block shows. */
export interface Moment {
  id: string;
  engine: string;
  /** Milliseconds since 1970. */
  since: number;
  isQueued: boolean;
  doing: string;
}

/** The line of a window and the prompt of a shell stay in sight. */
const linesLeft = 2;
const gap = '  ';
const frames = [...'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'];

/** One line for each agent at work, below what is printed meanwhile. */
export class AgentBlock {
  readonly #block: LiveBlock;
  #moments: Moment[] = [];

  constructor() {
    this.#block = new LiveBlock((beat, size) =>
      blockLines(this.#moments, beat, size)
    );
  }

  async show(host: Host, runs: Run[]): Promise<void> {
    this.#moments = await Promise.all(runs.map((run) => momentOf(host, run)));
  }

  close(): void {
    this.#block.close();
  }
}

/** A block where there is a terminal that can have one, for people to see. */
export function openBlock(
  streams: { isTTY?: boolean }[] = [process.stderr]
): AgentBlock | undefined {
  const isAble = streams.every((stream) => stream.isTTY);
  return isAble && process.env.TERM !== 'dumb' ? new AgentBlock() : undefined;
}

/** What an agent does now, on one line. */
export async function describeMoment(host: Host, run: Run): Promise<string> {
  if (run.status === 'queued') return 'waiting for a free place';
  const reply = await host.tracker.reply(run.record.agent_id);
  return oneLine(reply?.progress ?? 'at work');
}

async function momentOf(host: Host, run: Run): Promise<Moment> {
  const { agent_id: id, engine, created_at } = run.record;
  const isQueued = run.status === 'queued';
  const since = Date.parse(created_at);
  return {
    id: oneLine(id),
    engine: oneLine(engine),
    since,
    isQueued,
    doing: await describeMoment(host, run)
  };
}

export function blockLines(
  moments: Moment[],
  beat: number,
  { columns, rows }: Size,
  now = Date.now()
): string[] {
  const { cyan, dim } = colorsFor(process.stderr);
  const room = Math.max(1, rows - linesLeft);
  const isFull = moments.length > room;
  const shown = isFull ? moments.slice(0, room - 1) : moments;
  const engines = Math.max(0, ...shown.map(({ engine }) => widthOf(engine)));
  const times = shown.map(({ since }) =>
    duration(Math.max(0, now - since) / 1000)
  );
  const longest = Math.max(0, ...times.map((time) => time.length));
  const lines = shown.map(({ id, engine, isQueued, doing }, index) => {
    const mark = isQueued ? dim('·') : cyan(frames[beat % frames.length] ?? '');
    const facts = [
      id,
      engine.padEnd(engines),
      (times[index] ?? '').padStart(longest)
    ].join(gap);
    const line = shorten(`${facts}${gap}${doing}`, columns - 3);
    return `${mark} ${line.slice(0, facts.length)}${dim(line.slice(facts.length))}`;
  });
  const more = moments.length - shown.length;
  return more > 0 ? [...lines, dim(`+ ${more} more`)] : lines;
}
