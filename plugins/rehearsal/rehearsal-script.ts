import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** Thrown by the command `fail` of a script. */
export class ScriptFailure extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

interface ScriptParts {
  access: string;
  report: (event: Record<string, unknown>) => void;
  /** Prints text that is not an event. */
  print: (text: string) => void;
  /** Calls a tool that asks; absent if the run may not ask. */
  ask?: (
    tool: string,
    args: object
  ) => Promise<Record<string, unknown> | undefined>;
}

/** Performs a script line by line. */
export class Script {
  /** Lines of the answer so far. */
  readonly said: string[] = [];
  readonly #access: string;
  readonly #report: ScriptParts['report'];
  readonly #commands: Record<string, (rest: string) => unknown> = {
    say: (text) => this.said.push(text),
    sleep: (seconds) => delay(1000 * Number(seconds) || 0),
    write: (rest) => this.#write(rest),
    permit: (command) => this.#permit(command),
    ask: (rest) => this.#question(rest),
    progress: (text) => this.#report({ type: 'progress', text }),
    print: (megabytes) => this.#printMuch(Number(megabytes) || 1),
    fail: (rest) => fail(rest),
    exit: (code) => process.exit(Number(code) || 0),
    crash: () => process.kill(process.pid, 'SIGKILL'),
    hang: () => delay(2 ** 31 - 1),
    'ignore-term': () => process.on('SIGTERM', () => undefined),
    'leave-child': () => leaveChild(false),
    'leave-daemon': () => leaveChild(true)
  };

  readonly #print: ScriptParts['print'];
  readonly #ask: ScriptParts['ask'];
  /** Commands so far; the id of the current one. */
  #calls = 0;

  constructor({ access, report, print, ask }: ScriptParts) {
    this.#ask = ask;
    this.#access = access;
    this.#report = report;
    this.#print = print;
  }

  /** @throws ScriptFailure for the command `fail` */
  async perform(line: string): Promise<void> {
    const command = this.#commandIn(line);
    if (command) {
      this.#calls += 1;
      const said = line.trim();
      const [name = ''] = said.split(/\s/, 1);
      const input = said.slice(name.length).trimStart();
      this.#report({
        type: 'progress',
        text: said.slice(0, 120),
        call: `${this.#calls}`,
        name,
        input
      });
      await command();
    } else if (line.trim() !== '')
      this.said.push(`(would work on: ${line.trim()})`);
  }

  #commandIn(line: string): (() => unknown) | undefined {
    const [, word = '', rest = ''] =
      /^\s*([a-z-]+)(?:\s+(.*?))?\s*$/s.exec(line) ?? [];
    const command = Object.hasOwn(this.#commands, word)
      ? this.#commands[word]
      : undefined;
    return command && (() => command(rest));
  }

  answer(): string {
    return [
      'Rehearsal, no model was asked.',
      ...(this.said.length > 0 ? this.said : ['(nothing to do)'])
    ].join('\n');
  }

  /** Prints plain text, which a reader of events has to skip. */
  #printMuch(megabytes: number): void {
    const text = `${'x'.repeat(1023)}\n`.repeat(1024);
    for (let printed = 0; printed < megabytes; printed += 1) this.#print(text);
  }

  /** Undefined when the tool may be used, else why it is refused. */
  async #refusal(
    tool: string,
    input: object,
    isAllowed: boolean
  ): Promise<string | undefined> {
    if (isAllowed) return undefined;
    if (!this.#ask) return `access is ${this.#access}`;
    const answer = await this.#ask('permission', { tool_name: tool, input });
    if (answer?.behavior === 'allow') return undefined;
    return String(answer?.message ?? 'it could not be asked for');
  }

  /** Asks for a command as for a shell, and runs nothing. */
  async #permit(command: string): Promise<void> {
    const isAllowed = this.#access === 'full';
    const why = await this.#refusal('Shell', { command }, isAllowed);
    if (why === undefined) this.#end(`allowed ${command}`);
    else this.#end(`(refused ${command}: ${why})`, true);
  }

  /** Adds the result of a command to the answer and to the output. */
  #end(text: string, isError = false): void {
    this.said.push(text);
    this.#report({
      type: 'result',
      call: `${this.#calls}`,
      text,
      ...(isError && { isError })
    });
  }

  async #question(rest: string): Promise<void> {
    const [question = '', ...options] = rest.split(/\s*\|\s*/);
    const answer = await this.#ask?.('ask_coordinator', {
      question,
      ...(options.length > 0 ? { options } : {})
    });
    if (answer?.answer === undefined)
      this.#end(`(no answer to: ${question})`, true);
    else this.#end(`${question} ${answer.answer} (${answer.by})`);
  }

  async #write(rest: string): Promise<void> {
    const [path = '', ...words] = rest.split(' ');
    const input = { file_path: path };
    const why = await this.#refusal('Write', input, this.#access !== 'read');
    if (why !== undefined) {
      this.#end(`(refused to write ${path}: ${why})`, true);
      return;
    }
    const target = resolve(path);
    const after = `${words.join(' ')}\n`;
    const change = existsSync(target) ? 'changed' : 'added';
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, after);
    const call = `${this.#calls}`;
    this.#report({ type: 'edit', text: target, call, change, after });
    this.#end(`wrote ${path}`);
  }
}

function fail(rest: string): never {
  const [code = '', ...words] = rest.split(' ');
  throw new ScriptFailure(code, words.join(' ') || 'failed as scripted');
}

function leaveChild(daemon: boolean): void {
  const script = "process.on('SIGTERM',()=>{});setInterval(()=>{},1e6)";
  spawn(process.execPath, ['-e', script], {
    detached: daemon,
    stdio: 'ignore'
  }).unref();
}
