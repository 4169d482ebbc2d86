import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import { type Changes, changesOf, patchOf } from '../changes/change-file.ts';
import type { RecordIdentity } from '../paths/identity.ts';
import { ownFile } from '../runs/own-file.ts';
import type { Outcome, RunRecord } from '../runs/run.ts';
import { eventsOf } from '../runs/run-files.ts';
import { mostPageBytes, type RunStore } from '../runs/run-store.ts';
import { ensureDirectory, lookAt } from '../state/directories.ts';
import { readEnds, sizeOf } from '../state/text-file.ts';
import { visibleText } from '../visible-text.ts';
import { fenceFor, oneLine, utc } from './entry.ts';
import { longestSecret, type Redact } from './redact.ts';
import { markOf, replaceView } from './view-file.ts';

/** Of a longer text it has so many characters at either end. */
const endChars = 500_000;
/** Characters cleaned at a time, between which other work goes on. */
const sliceChars = 256 * 1024;

export interface PagesOptions {
  store: RunStore;
  identity: () => RecordIdentity;
  redact: Redact;
}

/** `logs/agents/<agent_id>.md`: what one agent was asked, said and changed. */
export class AgentPages {
  readonly #with: PagesOptions;
  readonly #writing = new Map<string, Promise<boolean>>();

  constructor(options: PagesOptions) {
    this.#with = options;
  }

  /** Returns when an agent that has ended has its page, or cannot have one. */
  async ensure(agentId: string): Promise<void> {
    const { pages } = this.#with.store;
    const isThere = pages !== undefined && lookAt(join(pages, `${agentId}.md`));
    if (!isThere) await this.write(agentId).catch(() => false);
  }

  /**
   * Writes the page of an agent that has ended. False when there is no such
   * agent, or its folder is not as troupe made it.
   */
  write(agentId: string): Promise<boolean> {
    const writing =
      this.#writing.get(agentId) ??
      this.#write(agentId).finally(() => this.#writing.delete(agentId));
    this.#writing.set(agentId, writing);
    return writing;
  }

  async #write(agentId: string): Promise<boolean> {
    const { store, identity } = this.#with;
    const record = store.recordOf(agentId);
    const outcome = store.outcomeOf(agentId);
    if (!record || !outcome || store.pages === undefined) return false;
    // A workspace that was moved or removed meanwhile does not come back.
    if (!existsSync(dirname(dirname(store.pages)))) return false;
    ensureDirectory(store.pages);
    const path = join(store.pages, `${agentId}.md`);
    const mark = markOf(path, agentId, identity());
    const parts = await this.#parts(record, outcome, mark);
    await replaceView(path, parts, identity());
    return true;
  }

  async #parts(
    record: RunRecord,
    outcome: Outcome,
    mark: string
  ): Promise<string[]> {
    const directory = this.#with.store.directoryOf(record.agent_id);
    const changes = changesOf(directory);
    const patch = patchOf(directory);
    return [
      `# 🤖 ${oneLine(this.#with.redact(record.task), 80) || '(no words)'}\n\n${mark}\n\n`,
      this.#facts(record, outcome),
      ...(await this.#text('Prompt', directory, {
        name: 'prompt.txt',
        chars: record.prompt_chars
      })),
      ...(await this.#text('Answer', directory, {
        name: outcome.result_file,
        chars: outcome.result_chars
      })),
      ...(outcome.error === null
        ? []
        : section('Error', '', [visibleText(outcome.error)])),
      ...(changes ? [filesOf(changes)] : []),
      ...(existsSync(patch)
        ? await this.#text('Diff', directory, { name: 'changes.diff' }, 'diff')
        : []),
      timeLine(record, outcome, directory)
    ];
  }

  #facts(record: RunRecord, outcome: Outcome): string {
    const { usage, cost_usd: cost } = outcome;
    const model = outcome.model ?? record.model ?? 'default';
    const rows: [string, string][] = [
      ['Agent', `\`${record.agent_id}\``],
      ['Status', outcome.status],
      [
        'Engine',
        `${oneLine(record.label, 40)} (${oneLine(this.#with.redact(model), 80)}) [${record.kind.toUpperCase()}]`
      ],
      ['Access', `${record.access} (${record.enforcement})`],
      ['Directory', oneLine(record.cwd, 400)],
      ['Time', `${(outcome.duration_ms / 1000).toFixed(1)} s`],
      ['Cost', cost === null ? 'unknown' : `$${cost.toFixed(4)}`],
      [
        'Tokens',
        usage
          ? `${usage.prompt_tokens} in, ${usage.completion_tokens} out`
          : 'unknown'
      ],
      ...(record.worktree
        ? [
            ['Branch', oneLine(record.worktree.branch, 80)] satisfies [
              string,
              string
            ]
          ]
        : []),
      ...(record.parent
        ? [['Spawned by', `\`${record.parent}\``] satisfies [string, string]]
        : []),
      ...(record.continues
        ? [['Continues', `\`${record.continues}\``] satisfies [string, string]]
        : [])
    ];
    const lines = rows.map(([name, value]) => `| ${name} | ${value} |`);
    return `| | |\n|---|---|\n${lines.join('\n')}\n\n`;
  }

  async #text(
    title: string,
    directory: string,
    { name, chars }: { name: string; chars?: number },
    language = ''
  ): Promise<string[]> {
    const path = ownFile(directory, name);
    if (path === undefined) return [`## ${title}\n\n(not kept)\n\n`];
    const isWhole = sizeOf(path) <= mostPageBytes;
    const reach = isWhole ? mostPageBytes : endChars;
    const { head, tail, totalChars } = await readEnds(
      path,
      reach,
      reach,
      chars
    );
    const { redact } = this.#with;
    const texts = isWhole
      ? await cleaned(head + tail, redact)
      : [
          ...(await cleaned(head, redact)),
          `\n\n… ${totalChars - head.length - tail.length} characters left out; the whole text is in ${path} …\n\n`,
          ...(await cleaned(tail, redact))
        ];
    return section(`${title} (${totalChars} chars)`, language, texts);
  }
}

/** Agents of ended entries in a log, by their status lines. */
export function endedIn(log: string): string[] {
  return [
    ...log.matchAll(/^- \[x\] .* \| \[Page\]\(agents\/([0-9a-f]{8})\.md\)$/gm)
  ].map(([, id = '']) => id);
}

function section(title: string, language: string, texts: string[]): string[] {
  const fence = fenceFor(texts);
  return [`## ${title}\n\n${fence}${language}\n`, ...texts, `\n${fence}\n\n`];
}

/** Cuts neither a character nor a Windows line end in two. */
function sliceEnd(text: string, wanted: number): number {
  const end = Math.min(text.length, wanted);
  const isWithin =
    text.startsWith('\r\n', end - 1) ||
    /[\udc00-\udfff]/.test(text.charAt(end));
  return isWithin ? end - 1 : end;
}

/** Secrets out, some at a time; one that reaches over an edge is masked. */
async function cleaned(text: string, redact: Redact): Promise<string[]> {
  const parts: string[] = [];
  let end = 0;
  for (let from = 0; from < text.length; from = end) {
    const start = Math.max(0, from - longestSecret);
    end = sliceEnd(text, from + sliceChars);
    const around = text.slice(start, end + longestSecret);
    parts.push(visibleText(redact(around, from - start, end - start)));
    await breathe();
  }
  return parts;
}

function filesOf({ files, total = 0, note }: Changes): string {
  const rows = (files ?? []).map(
    ({ path, added, removed }) =>
      `- \`${oneLine(path, 400)}\` ${added === null ? '(binary)' : `+${added} −${removed}`}`
  );
  const more = total - rows.length;
  return [
    `## Changes (${total} files)`,
    '',
    ...rows,
    ...(more > 0 ? [`- … and ${more} more`] : []),
    ...(note === undefined ? [] : ['', oneLine(note, 2000)]),
    '',
    ''
  ].join('\n');
}

const knownEvents = new Map([
  ['started', 'started'],
  ['stop', 'was asked to stop'],
  ['journalled', 'was put into the journal']
]);

function timeLine(
  record: RunRecord,
  outcome: Outcome,
  directory: string
): string {
  const lines = eventsOf(directory).flatMap(({ type, at, why }) => {
    const what = knownEvents.get(String(type));
    if (what === undefined || typeof at !== 'string') return [];
    const because = typeof why === 'string' ? ` (${oneLine(why, 40)})` : '';
    return [`- ${utc(at)}: ${what}${because}`];
  });
  return [
    '## Time line',
    '',
    `- ${utc(record.created_at)}: was spawned`,
    ...lines,
    `- ${utc(outcome.completed_at)}: ended as ${outcome.status}`,
    ''
  ].join('\n');
}
