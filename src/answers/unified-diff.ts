export interface DiffFile {
  /** The new path, or the old one of a deleted file; '' without headers. */
  path: string;
  /** The earlier path, if that was another one. */
  oldPath?: string;
  change: 'added' | 'changed' | 'deleted' | 'renamed';
  isBinary: boolean;
  added: number;
  removed: number;
  hunks: DiffHunk[];
  /** Lines beyond the limit, which the counts include. */
  linesLeftOut: number;
}

export interface DiffHunk {
  /** The line with `@@`. */
  header: string;
  lines: DiffLine[];
}

export interface DiffLine {
  /** A note is `\ No newline at end of file`. */
  kind: 'same' | 'added' | 'removed' | 'note';
  /** Without the sign. */
  text: string;
  /** Its number in the old and in the new file. */
  old?: number;
  new?: number;
}

export interface DiffLimits {
  filesAtMost: number;
  /** Lines that are kept of one file, and of all files. */
  linesPerFile: number;
  lines: number;
}

export interface ParsedDiff {
  files: DiffFile[];
  filesLeftOut: number;
}

const defaultLimits: DiffLimits = {
  filesAtMost: 1000,
  linesPerFile: 5000,
  lines: 50_000
};

/**
 * Reads a patch as git and `diff -u` write it. Never throws: lines that have no
 * place in a patch are passed over. A patch that was cut anywhere gives what is
 * there.
 */
export function parseDiff(text: string, limits = defaultLimits): ParsedDiff {
  const parser = new DiffParser(limits);
  for (const line of text.split('\n')) parser.add(line);
  return parser.parsed;
}

const hunkHeader = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

class DiffParser {
  readonly parsed: ParsedDiff = { files: [], filesLeftOut: 0 };
  readonly #limits: DiffLimits;
  #file: DiffFile | undefined;
  #hunk: DiffHunk | undefined;
  #kept = 0;
  #keptOfFile = 0;
  /** Numbers of the next lines, and the lines that the hunk still has. */
  #old = 0;
  #new = 0;
  #oldLeft = 0;
  #newLeft = 0;

  constructor(limits: DiffLimits) {
    this.#limits = limits;
  }

  add(line: string): void {
    if (line.startsWith('diff --git ')) this.#openFile(namesIn(line));
    else if (!this.#startsHunk(line) && !this.#addToHunk(line))
      this.#addHeader(line);
  }

  #openFile({ old = '', now = '' }: { old?: string; now?: string }): void {
    const { files } = this.parsed;
    this.#hunk = undefined;
    this.#keptOfFile = 0;
    this.#file = {
      ...{ path: now || old, change: 'changed', isBinary: false },
      ...{ added: 0, removed: 0, hunks: [], linesLeftOut: 0 }
    };
    if (files.length < this.#limits.filesAtMost) files.push(this.#file);
    else this.parsed.filesLeftOut += 1;
  }

  #startsHunk(line: string): boolean {
    const found = hunkHeader.exec(line);
    if (!found) return false;
    const [, old, oldCount = '1', now, newCount = '1'] = found;
    if (!this.#file) this.#openFile({});
    this.#old = Number(old);
    this.#new = Number(now);
    this.#oldLeft = Number(oldCount);
    this.#newLeft = Number(newCount);
    this.#hunk = { header: line, lines: [] };
    if (this.#hasRoom()) this.#file?.hunks.push(this.#hunk);
    return true;
  }

  /** A removed line `-- x` looks like a header, so the counts decide. */
  #addToHunk(line: string): boolean {
    if (!this.#hunk) return false;
    const isOver = this.#oldLeft <= 0 && this.#newLeft <= 0;
    const sign = line.charAt(0);
    const text = line.slice(1).replace(/\r$/, '');
    if (sign === '\\') this.#keep({ kind: 'note', text: text.trim() });
    else if (isOver) return false;
    else if (sign === '+') this.#keep({ kind: 'added', text, new: this.#new });
    else if (sign === '-')
      this.#keep({ kind: 'removed', text, old: this.#old });
    else if (sign === ' ' || line === '')
      this.#keep({ kind: 'same', text, old: this.#old, new: this.#new });
    else return false;
    return true;
  }

  #keep(line: DiffLine): void {
    const file = this.#file;
    if (!file) return;
    if (line.new !== undefined) {
      this.#new += 1;
      this.#newLeft -= 1;
    }
    if (line.old !== undefined) {
      this.#old += 1;
      this.#oldLeft -= 1;
    }
    if (line.kind === 'added') file.added += 1;
    if (line.kind === 'removed') file.removed += 1;
    if (!this.#hasRoom()) {
      file.linesLeftOut += 1;
      return;
    }
    this.#kept += 1;
    this.#keptOfFile += 1;
    this.#hunk?.lines.push(line);
  }

  #hasRoom(): boolean {
    const { linesPerFile, lines } = this.#limits;
    return this.#keptOfFile < linesPerFile && this.#kept < lines;
  }

  #addHeader(line: string): void {
    const [, name = '', rest = ''] =
      /^(---|\+\+\+|rename from|rename to) (.*)$/.exec(line) ?? [];
    // Without a line of git, each pair of these begins a file.
    if (name === '---' && (this.#hunk || !this.#file)) this.#openFile({});
    const file = this.#file;
    if (!file) return;
    if (line.startsWith('new file mode')) file.change = 'added';
    if (line.startsWith('deleted file mode')) file.change = 'deleted';
    if (/^(Binary files |GIT binary patch)/.test(line)) file.isBinary = true;
    if (name === 'rename from') {
      file.change = 'renamed';
      file.oldPath = unquoted(rest);
    } else if (name === 'rename to') file.path = unquoted(rest);
    else if (name !== '') this.#addPath(file, name === '---', pathIn(rest));
  }

  #addPath(file: DiffFile, isOld: boolean, path: string | undefined): void {
    if (path === undefined) file.change = isOld ? 'added' : 'deleted';
    else if (!isOld || file.path === '') file.path = path;
  }
}

/** Undefined for `/dev/null`. GNU diff puts a time behind a tab. */
function pathIn(rest: string): string | undefined {
  const path = unquoted(rest.startsWith('"') ? rest : rest.split('\t', 1)[0]);
  return path === '/dev/null' ? undefined : path.replace(/^[ab]\//, '');
}

/** The paths of `diff --git a/x b/x`, where both are the same or quoted. */
function namesIn(line: string): { old?: string; now?: string } {
  const rest = line.slice('diff --git '.length);
  const quoted = /^("(?:[^"\\]|\\.)*"|\S+) ("(?:[^"\\]|\\.)*")$/.exec(rest);
  if (quoted) return { now: unquoted(quoted[2]).replace(/^b\//, '') };
  const half = rest.slice(2, 2 + (rest.length - 5) / 2);
  if (rest === `a/${half} b/${half}`) return { now: half };
  const [, old = '', now = ''] = /^a\/(.*?) b\/(.*)$/.exec(rest) ?? [];
  return { old, now };
}

const escapes: Record<string, string> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v'
};

/** A path that git has quoted as in C, with octal bytes. */
function unquoted(path = ''): string {
  const inner = /^"((?:[^"\\]|\\.)*)"/.exec(path)?.[1];
  if (inner === undefined) return path.replace(/\r$/, '');
  const bytes = inner.replace(
    /\\([0-7]{1,3}|.)|[^\\]+/g,
    (whole, code?: string) => {
      if (code === undefined) return Buffer.from(whole).toString('latin1');
      return /^[0-7]/.test(code)
        ? String.fromCharCode(Number.parseInt(code, 8) & 0xff)
        : (escapes[code] ?? Buffer.from(code).toString('latin1'));
    }
  );
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
