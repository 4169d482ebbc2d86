/** One entry of IAC.md as a strict reader takes it apart. */
export interface ParsedEntry {
  title: string;
  done: boolean;
  /** "Running", "Done", … */
  word: string;
  /** On the status line; `errorBlock` has it whole when it did not fit. */
  error: string | undefined;
  seconds: string | undefined;
  cost: string | undefined;
  id: string;
  engine: string;
  facts: string[];
  input: ParsedText;
  output: ParsedText | undefined;
  errorBlock: ParsedText | undefined;
  /** Names of files that it changed. */
  files: string[];
}

export interface ParsedText {
  chars: number;
  text: string;
}

export interface ParsedIac {
  header: string;
  entries: ParsedEntry[];
}

/**
 * Takes IAC.md or an archive file apart by its rules alone: headings, fences,
 * details. Lines end with LF and nothing else.
 * @throws at the first line that is not where the rules put it
 */
export function parseIac(text: string): ParsedIac {
  const lines = new Lines(text.split('\n'));
  const isArchive = text.startsWith('# Inter-Agent Communication: archive');
  const header = lines.through(isArchive ? '---' : '## History');
  if (!isArchive) {
    lines.expect('');
    lines.match(/^> Newest first/);
    lines.expect('');
    lines.expect('---');
  }
  lines.expect('');
  const entries: ParsedEntry[] = [];
  while (!lines.peek().startsWith('<!-- troupe: ')) {
    if (lines.peek() === '' && entries.length === 0) lines.expect('');
    else entries.push(entryIn(lines));
  }
  lines.match(/^<!-- troupe: journal \d+ bytes, [a-z0-9, ]+ -->$/);
  lines.expect('');
  lines.end();
  return { header: header.join('\n'), entries };
}

const statusLine =
  /^- \[([ x])\] \S+ \*\*([A-Za-z ]+)\*\*(?:: ([^|]*?))?(?: \((\d+\.\d)s(?:, \$(\d+\.\d{4}))?\))? \| `#([0-9a-f]{8})` \| ([^|]*) \| (.*)$/u;

function entryIn(lines: Lines): ParsedEntry {
  const [, title = ''] = lines.match(/^### 🤖 (.+)$/u);
  const [, mark, word = '', error, seconds, cost, id = '', engine = '', rest] =
    lines.match(statusLine);
  lines.expect('');
  const input = blockIn(lines, '📥 Input');
  const output = lines.peek(1).startsWith('<summary>📤')
    ? blockIn(lines, '📤 Output')
    : undefined;
  const errorBlock = lines.peek(1).startsWith('<summary>❗')
    ? blockIn(lines, '❗ Error')
    : undefined;
  const files = lines.peek(1).startsWith('<summary>📝') ? filesIn(lines) : [];
  lines.expect('---');
  lines.expect('');
  return {
    ...{ title, word, error, seconds, cost, id, engine },
    done: mark === 'x',
    facts: (rest ?? '').split(' | '),
    ...{ input, output, errorBlock, files }
  };
}

function filesIn(lines: Lines): string[] {
  lines.expect('<details>');
  lines.match(/^<summary>📝 Changes \(\d+ files?\)<\/summary>$/u);
  lines.expect('');
  const files: string[] = [];
  while (lines.peek() !== '') {
    const [, file = ''] = lines.match(
      /^- (?:`([^`]*)` (?:\+\d+ −\d+|\(binary\))(?: \(shared\))?|… and \d+ more)$/u
    );
    files.push(file);
  }
  lines.expect('');
  lines.expect('</details>');
  lines.expect('');
  return files;
}

function blockIn(lines: Lines, title: string): ParsedText {
  lines.expect('<details>');
  const [, chars] = lines.match(
    new RegExp(`^<summary>${title} \\((\\d+) chars\\)</summary>$`)
  );
  lines.expect('');
  const [fence] = lines.match(/^`{3,}$/);
  const text = lines.through(fence ?? '').join('\n');
  lines.expect('');
  lines.expect('</details>');
  lines.expect('');
  return { chars: Number(chars), text };
}

class Lines {
  readonly #lines: string[];
  #at = 0;

  constructor(lines: string[]) {
    this.#lines = lines;
  }

  peek(ahead = 0): string {
    return this.#lines[this.#at + ahead] ?? '';
  }

  expect(wanted: string): void {
    if (this.#next() !== wanted) this.#fail(JSON.stringify(wanted));
  }

  match(pattern: RegExp): RegExpExecArray {
    const found = pattern.exec(this.#next());
    return found ?? this.#fail(String(pattern));
  }

  /** The lines before the next one that is `last`, which is passed. */
  through(last: string): string[] {
    const end = this.#lines.indexOf(last, this.#at);
    if (end < 0) this.#fail(`a line ${JSON.stringify(last)} further on`);
    const before = this.#lines.slice(this.#at, end);
    this.#at = end + 1;
    return before;
  }

  end(): void {
    if (this.#at !== this.#lines.length) this.#fail('the end');
  }

  #next(): string {
    const line = this.peek();
    this.#at += 1;
    return line;
  }

  #fail(wanted: string): never {
    const found = JSON.stringify(this.#lines[this.#at - 1]?.slice(0, 200));
    throw new Error(`Line ${this.#at}: ${found} instead of ${wanted}`);
  }
}
