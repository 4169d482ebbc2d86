import { changesOf, patchOf } from '../../core/changes/change-file.ts';
import { readSlice } from '../../core/state/files/text-file.ts';
import { terminalLine } from '../../core/text.ts';
import type { Host } from '../../host/host.ts';
import {
  isWorker,
  type WatchedAgent
} from '../../interfaces/board/watched-agent.ts';
import { colorsFor } from '../output/output.ts';
import { counted } from '../output/text.ts';
import type { TextSource, TitledText } from './text-pager.ts';

/** Characters of a patch; the file has all of a longer one. */
const mostChars = 1_000_000;

/** The changes that an agent made to files, as a patch. */
export class DiffText implements TextSource {
  readonly agent: WatchedAgent;
  readonly #host: Host;
  #known: TitledText | undefined;

  constructor(host: Host, agent: WatchedAgent) {
    this.#host = host;
    this.agent = agent;
  }

  async read(): Promise<TitledText> {
    if (this.#known) return this.#known;
    const { store } = this.#host;
    const { id, engine, of } = this.agent;
    const title = `Changes of ${isWorker(of) ? engine : of.record.label} ${id}`;
    if (isWorker(of))
      return { title, text: 'The changes of a worker are not recorded.' };
    const directory = store.directoryOf(id);
    const changes = changesOf(directory);
    if (!changes)
      return {
        title,
        text: store.hasOutcome(id)
          ? 'Its changes were not recorded.'
          : 'Its changes are recorded when it ends.'
      };
    const { total = 0, files, patch, note } = changes;
    const path = patchOf(directory);
    const count = files ? counted(total, 'file') : 'unknown';
    const head = note === undefined ? [] : [terminalLine(note), ''];
    const body = patch === null ? ['There is no patch.'] : await patchIn(path);
    this.#known = {
      title: `${title}: ${count}`,
      text: [...head, ...body].join('\n'),
      color: colorOf
    };
    return this.#known;
  }
}

async function patchIn(path: string): Promise<string[]> {
  try {
    const { text, totalChars } = await readSlice(path, 0, mostChars);
    const rest = totalChars - text.length;
    return rest > 0 ? [text, `… ${rest} more characters: ${path}`] : [text];
  } catch {
    return ['The file with the patch is gone.'];
  }
}

function colorOf(line: string): string {
  const { bold, cyan, green, red } = colorsFor(process.stdout);
  if (/^(diff|index|---|\+\+\+) /.test(line)) return bold(line);
  if (line.startsWith('@@')) return cyan(line);
  if (line.startsWith('+')) return green(line);
  return line.startsWith('-') ? red(line) : line;
}
