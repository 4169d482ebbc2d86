import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Engine } from '../../../plugin/plugin.ts';
import { type Changes, changesOf, patchOf } from '../../changes/change-file.ts';
import type { RecordIdentity } from '../../paths/records.ts';
import {
  describeAccess,
  type Outcome,
  type RunRecord
} from '../../runs/run.ts';
import { eventsOf, ownFile } from '../../runs/run-files.ts';
import { mostPageBytes, type RunStore } from '../../runs/run-store.ts';
import { turnsOf, turnsReaderOf } from '../../runs/turns/turn-page.ts';
import {
  ensureDirectory,
  lstatIfExists
} from '../../state/files/directories.ts';
import { readEnds, sizeOf } from '../../state/files/text-file.ts';
import { visibleText } from '../../text.ts';
import { longestSecret, type Redact } from '../redaction/redact.ts';
import { redactLong } from '../redaction/redact-long.ts';
import { cutsPair, fenceFor, fileLines, markdownLine, utc } from './entry.ts';
import { transcriptOf, transcriptRange } from './transcript.ts';
import { markOf, replaceView } from './view-file.ts';

/** A text above the page limit is cut to this many characters at each end. */
const endChars = 500_000;

interface PagesOptions {
  store: RunStore;
  identity: () => RecordIdentity;
  redact: Redact;
  /** The engine that reads a run's output; undefined if it is not known. */
  engineOf: (record: RunRecord) => Engine | undefined;
}

/** `logs/agents/<agent_id>.md`: what one agent was asked, did and answered. */
export class AgentPages {
  readonly #options: PagesOptions;
  readonly #writing = new Map<string, Promise<boolean>>();

  constructor(options: PagesOptions) {
    this.#options = options;
  }

  /** Writes a missing page. Never rejects. */
  async ensure(agentId: string): Promise<void> {
    const { pages } = this.#options.store;
    const isThere =
      pages !== undefined && lstatIfExists(join(pages, `${agentId}.md`));
    if (!isThere) await this.write(agentId).catch(() => false);
  }

  /**
   * Writes the page of an agent that has ended. False when the agent has no
   * valid record or outcome, or the workspace no longer exists.
   */
  write(agentId: string): Promise<boolean> {
    const writing =
      this.#writing.get(agentId) ??
      this.#write(agentId).finally(() => this.#writing.delete(agentId));
    this.#writing.set(agentId, writing);
    return writing;
  }

  async #write(agentId: string): Promise<boolean> {
    const { store, identity } = this.#options;
    const record = store.recordOf(agentId);
    const outcome = store.outcomeOf(agentId);
    if (!record || !outcome || store.pages === undefined) return false;
    // Does not recreate a workspace that was moved or removed.
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
    const directory = this.#options.store.directoryOf(record.agent_id);
    const changes = changesOf(directory);
    const patch = patchOf(directory);
    return [
      `# 🤖 ${markdownLine(this.#options.redact(record.task), 80) || '(no words)'}\n\n${mark}\n\n`,
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
      ...(await this.#transcript(record, outcome, directory)),
      ...(changes ? [filesOf(changes, this.#options.redact)] : []),
      ...(existsSync(patch)
        ? await this.#text('Diff', directory, { name: 'changes.diff' }, 'diff')
        : []),
      timeLine(record, outcome, directory)
    ];
  }

  #facts(record: RunRecord, outcome: Outcome): string {
    const { usage, cost_usd: cost } = outcome;
    const line = (text: string, chars: number) =>
      markdownLine(this.#options.redact(text), chars);
    const model = outcome.model ?? record.model ?? 'default';
    const facts: Record<string, string | undefined> = {
      Agent: `\`${record.agent_id}\``,
      Status: outcome.status,
      Engine: `${markdownLine(record.label, 40)} (${line(model, 80)}) [${record.kind.toUpperCase()}]`,
      Access: describeAccess(record.access, record.enforcement),
      Program:
        record.template === undefined
          ? undefined
          : line(record.command ?? '', 400),
      Directory: line(record.cwd, 400),
      Time: `${(outcome.duration_ms / 1000).toFixed(1)} s`,
      Cost: cost === null ? 'unknown' : `$${cost.toFixed(4)}`,
      Tokens: usage
        ? `${usage.prompt_tokens} in, ${usage.completion_tokens} out`
        : 'unknown',
      Branch: record.worktree && line(record.worktree.branch, 80),
      'Spawned by': record.parent ? `\`${record.parent}\`` : undefined,
      Continues: record.continues ? `\`${record.continues}\`` : undefined
    };
    const rows = Object.entries(facts).flatMap(([name, value]) =>
      value === undefined ? [] : [`| ${name} | ${value} |`]
    );
    return `| | |\n|---|---|\n${rows.join('\n')}\n\n`;
  }

  async #transcript(
    record: RunRecord,
    { result_text: answer }: Outcome,
    directory: string
  ): Promise<string[]> {
    const { engineOf, redact } = this.#options;
    const read = turnsReaderOf(record, engineOf(record));
    if (!read) return [];
    const page = await turnsOf(directory, read, transcriptRange);
    if (page.turns.length === 0) return [];
    const { title, text } = transcriptOf(page, redact, answer);
    return section(title, '', [text]);
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
    // More than is shown, to recognize secrets that span a cut.
    const reach = isWhole ? mostPageBytes : endChars + longestSecret;
    const ends = await readEnds(path, reach, reach, chars);
    const { head, tail, totalChars } = ends;
    const { redact } = this.#options;
    const heading = `${title} (${totalChars} chars)`;
    if (isWhole)
      return section(heading, language, await cleaned(head + tail, redact));
    const end = cutsPair(head, endChars) ? endChars - 1 : endChars;
    const from = Math.max(0, tail.length - endChars);
    const start = cutsPair(tail, from) ? from + 1 : from;
    const left = totalChars - end - (tail.length - start);
    return section(heading, language, [
      ...(await cleaned(head, redact, 0, end)),
      `\n\n… ${left} characters left out; the whole text is in ${path} …\n\n`,
      ...(await cleaned(tail, redact, start))
    ]);
  }
}

/** The ids of the agents whose status line in IAC.md links to a page. */
export function endedIn(log: string): string[] {
  return [
    ...log.matchAll(/^- \[x\] .* \| \[Page\]\(agents\/([0-9a-f]{8})\.md\)$/gm)
  ].map(([, id = '']) => id);
}

function section(title: string, language: string, texts: string[]): string[] {
  const fence = fenceFor(texts);
  return [`## ${title}\n\n${fence}${language}\n`, ...texts, `\n${fence}\n\n`];
}

async function cleaned(
  ...part: Parameters<typeof redactLong>
): Promise<string[]> {
  return (await redactLong(...part)).map(visibleText);
}

function filesOf(
  { files = [], total = 0, note }: Changes,
  redact: Redact
): string {
  const clean = files.map((file) => ({ ...file, path: redact(file.path) }));
  return [
    `## Changes (${total} files)`,
    '',
    ...fileLines(clean, total),
    ...(note === undefined ? [] : ['', markdownLine(redact(note), 2000)]),
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
    const because =
      typeof why === 'string' ? ` (${markdownLine(why, 40)})` : '';
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
